package slot

import (
	"cmp"
	"math"
	"time"
)

// Auto decides how many slots a node should have, by the room that is measured on it:
//
//	want(n) = clamp(used + ⌊(free(n) + held(n)) / u⌋, Min, Max)
//
// used are the occupied slots, free is what a scheduler still offers (avail − in flight −
// held), held what the testbed's own placeholders hold, u UnitsPerSlot, all in pods of mean cost.
//
// Growth takes a want above what is there for GrowAfter, and is by one slot; a reduction
// takes one below for ShrinkAfter, and is to the most that was wanted meanwhile. A node
// changes at most twice a minute. The zero value has the defaults.
type Auto struct {
	// UnitsPerSlot is how many pods of mean cost a slot holds; 0 is 1.
	UnitsPerSlot float64
	// Min and Max bound a node's slots; a Max of 0 is 16.
	Min, Max int
	// GrowAfter (0 is 30 s) is a boundary of two growths a minute; ShrinkAfter (0 is
	// 10 s) is longer than a start's spike.
	GrowAfter, ShrinkAfter time.Duration
}

// withDefaults returns a with the defaults in the place of zeros.
func (a Auto) withDefaults() Auto {
	return Auto{
		UnitsPerSlot: cmp.Or(a.UnitsPerSlot, 1),
		Min:          a.Min,
		Max:          cmp.Or(a.Max, 16),
		GrowAfter:    cmp.Or(a.GrowAfter, 30*time.Second),
		ShrinkAfter:  cmp.Or(a.ShrinkAfter, 10*time.Second),
	}
}

// Room is what is known of a node, in pods of mean cost.
type Room struct {
	// Free is what a scheduler still offers there, Held what this testbed's placeholders hold.
	Free, Held float64
	// Occupied is how many of the testbed's slots have a live pod.
	Occupied int
	// Known reports whether the node's report is fresh, its cost known, and the node warm.
	Known bool
}

// dust is what sums of floats may lack of a whole pod.
const dust = 1e-9

// Want returns how many slots a node of this room should have. What is not a number is
// no room.
func (a Auto) Want(r Room) int {
	a = a.withDefaults()
	more := math.Floor((r.Free+r.Held)/a.UnitsPerSlot + dust)
	if math.IsNaN(more) {
		more = 0
	}
	// As floats: infinite room is no int.
	return int(min(max(float64(r.Occupied)+more, float64(a.Min)), float64(a.Max)))
}

// window is in which a node changes at most twice.
const window = time.Minute

// Scale is what Auto keeps of a node. The zero value is a node without slots.
type Scale struct {
	// Have are the positions that are wanted.
	Have Positions
	// since when the want has been on one side, above what is there if above.
	since time.Time
	above bool
	// most is the most that was wanted since then.
	most int
	// changes are when the node last changed, the latest last.
	changes [2]time.Time
}

// Step follows one look at a node: busy are the positions that are claimed or with a
// pod. It returns the new state, and when to ask again even if nothing changes; the zero
// time is never. A room that is not known, or not a number, changes nothing.
func (a Auto) Step(s Scale, r Room, busy Positions, now time.Time) (Scale, time.Time) {
	a = a.withDefaults()
	want, have := a.Want(r), s.Have.Len()
	if !r.Known || math.IsNaN(r.Free+r.Held) || want == have {
		s.since = time.Time{}
		return s, time.Time{}
	}
	if above := want > have; s.since.IsZero() || above != s.above {
		s.since, s.above, s.most = now, above, want
	}
	s = s.notAfter(now)
	s.most = max(s.most, want)
	due := s.since.Add(a.ShrinkAfter)
	if s.above {
		due = s.since.Add(a.GrowAfter)
	}
	if first := s.changes[0]; !first.IsZero() && due.Before(first.Add(window)) {
		due = first.Add(window)
	}
	if now.Before(due) {
		return s, due
	}
	if s.above {
		s.Have = grow(s.Have, busy)
	} else {
		s.Have = shrink(s.Have, busy, s.most)
	}
	s.since, s.most, s.changes = now, want, [2]time.Time{s.changes[1], now}
	return a.Step(s, r, busy, now) // what is next takes a time, or nothing is
}

// notAfter holds the state's times to now: a clock that was set back stops nothing.
func (s Scale) notAfter(now time.Time) Scale {
	for _, at := range []*time.Time{&s.since, &s.changes[0], &s.changes[1]} {
		if at.After(now) {
			*at = now
		}
	}
	return s
}

// grow adds a position: one with a pod still in it, as that costs nothing, else the
// lowest.
func grow(have, busy Positions) Positions {
	for _, from := range []Positions{busy, First(MaxPerNode)} {
		for i := range from.All() {
			if !have.has(i) {
				return have.With(i)
			}
		}
	}
	return have
}

// shrink removes positions down to n: free ones first, the highest first.
func shrink(have, busy Positions, n int) Positions {
	for _, busyOnes := range []bool{false, true} {
		for i := MaxPerNode - 1; i >= 0 && have.Len() > n; i-- {
			if have.has(i) && busy.has(i) == busyOnes {
				have = have.without(i)
			}
		}
	}
	return have
}
