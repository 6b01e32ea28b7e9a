package slot_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

func TestWant(t *testing.T) {
	for name, tt := range map[string]struct {
		auto slot.Auto
		room slot.Room
		want int
	}{
		"free room":           {slot.Auto{}, slot.Room{Free: 3.9}, 3},
		"free, held and used": {slot.Auto{}, slot.Room{Free: 1.5, Held: 2.5, Occupied: 2}, 6},
		"in larger slots":     {slot.Auto{UnitsPerSlot: 1.5}, slot.Room{Free: 4.4, Held: .1}, 3},
		"sums of floats":      {slot.Auto{}, slot.Room{Free: .7, Held: .1 + .2}, 1},
		"at most 16":          {slot.Auto{}, slot.Room{Free: 40}, 16},
		"at most Max":         {slot.Auto{Max: 3}, slot.Room{Free: 40}, 3},
		"at least Min":        {slot.Auto{Min: 2}, slot.Room{}, 2},
		"too full":            {slot.Auto{}, slot.Room{Free: -2.5, Occupied: 5}, 2},
		"far too full":        {slot.Auto{}, slot.Room{Free: math.Inf(-1), Occupied: 5}, 0},
		"endless":             {slot.Auto{}, slot.Room{Free: math.Inf(1)}, 16},
		"not a number":        {slot.Auto{}, slot.Room{Free: math.NaN(), Occupied: 4}, 4},
		"less than one pod":   {slot.Auto{}, slot.Room{Free: -.5, Occupied: 2}, 1},
	} {
		if got := tt.auto.Want(tt.room); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// steps runs Step at each second of a range, and returns when the node changed.
func steps(a slot.Auto, s *slot.Scale, r slot.Room, busy slot.Positions, from, to int) (changed []int) {
	for at := from; at <= to; at++ {
		next, _ := a.Step(*s, r, busy, epoch.Add(time.Duration(at)*time.Second))
		if next.Have != s.Have {
			changed = append(changed, at)
		}
		*s = next
	}
	return changed
}

func TestAutoGrowsAndShrinks(t *testing.T) {
	var s slot.Scale
	full, none := slot.Room{Free: 3, Known: true}, slot.Room{Known: true}
	if got := steps(slot.Auto{}, &s, full, slot.Positions{}, 0, 200); !slices.Equal(got, []int{30, 60, 90}) || s.Have != slot.First(3) {
		t.Errorf("got growth at %v to %d", got, s.Have.Len())
	}
	if got := steps(slot.Auto{}, &s, none, slot.Positions{}, 201, 220); !slices.Equal(got, []int{211}) || s.Have.Len() != 0 {
		t.Errorf("got reduction at %v to %d", got, s.Have.Len())
	}
	// A quarter of a minute of room is not enough, nor half a minute of unknown room.
	steps(slot.Auto{}, &s, full, slot.Positions{}, 300, 329)
	steps(slot.Auto{}, &s, slot.Room{Free: 3}, slot.Positions{}, 330, 330)
	if got := steps(slot.Auto{}, &s, full, slot.Positions{}, 331, 360); len(got) > 0 {
		t.Errorf("got growth at %v", got)
	}
	steps(slot.Auto{}, &s, slot.Room{Free: math.NaN(), Known: true}, slot.Positions{}, 361, 361)
	if got := steps(slot.Auto{}, &s, full, slot.Positions{}, 362, 391); len(got) > 0 {
		t.Errorf("got growth at %v", got)
	}
	endless := slot.Room{Free: math.Inf(1), Held: math.Inf(1), Known: true}
	if got := steps(slot.Auto{}, &s, endless, slot.Positions{}, 392, 392); len(got) != 1 {
		t.Errorf("got growth at %v", got)
	}
}

// The node is loaded just after two growths: the want falls at once, and free slots are removed within
// half a minute, although the node has changed twice.
func TestAutoUnderLoad(t *testing.T) {
	var s slot.Scale
	steps(slot.Auto{}, &s, slot.Room{Free: 2, Known: true}, slot.Positions{}, 0, 60)
	if got := steps(slot.Auto{}, &s, slot.Room{Known: true}, slot.Positions{}, 61, 100); !slices.Equal(got, []int{90}) {
		t.Errorf("got reduction at %v", got)
	}
}

// A reduction is to the most that was wanted meanwhile; free slots are removed first, the highest
// before the others, and a retiring slot is the first to return.
func TestAutoPositions(t *testing.T) {
	s := slot.Scale{Have: slot.First(6)}
	busy := slot.Positions{}.With(1).With(5)
	a := slot.Auto{}
	steps(a, &s, slot.Room{Occupied: 2, Free: -1, Known: true}, busy, 0, 5)
	steps(a, &s, slot.Room{Occupied: 2, Free: 1, Known: true}, busy, 6, 6)
	steps(a, &s, slot.Room{Occupied: 2, Free: -1, Known: true}, busy, 7, 10)
	if want := busy.With(0); s.Have != want {
		t.Errorf("left %v", slices.Collect(s.Have.All()))
	}
	steps(a, &s, slot.Room{Occupied: 2, Free: -1, Known: true}, busy, 11, 20)
	if want := (slot.Positions{}).With(1); s.Have != want {
		t.Errorf("left %v", slices.Collect(s.Have.All()))
	}
	steps(a, &s, slot.Room{Occupied: 2, Free: 1, Known: true}, busy, 100, 130)
	if s.Have != busy {
		t.Errorf("got returned slots %v", slices.Collect(s.Have.All()))
	}
	steps(a, &s, slot.Room{Occupied: 2, Free: 1, Known: true}, busy, 131, 160)
	if s.Have != busy.With(0) {
		t.Errorf("then: %v", slices.Collect(s.Have.All()))
	}
}

func TestAutoReturnsTheNextTime(t *testing.T) {
	a := slot.Auto{GrowAfter: 40 * time.Second, ShrinkAfter: 5 * time.Second}
	s, due := a.Step(slot.Scale{}, slot.Room{Free: 2, Known: true}, slot.Positions{}, epoch)
	if want := epoch.Add(40 * time.Second); !due.Equal(want) {
		t.Errorf("got again at %v", due)
	}
	s, due = a.Step(s, slot.Room{Free: 2, Known: true}, slot.Positions{}, due)
	if want := epoch.Add(80 * time.Second); s.Have.Len() != 1 || !due.Equal(want) {
		t.Errorf("got %d, again at %v", s.Have.Len(), due)
	}
	s, due = a.Step(s, slot.Room{Free: 1, Known: true}, slot.Positions{}, epoch.Add(50*time.Second))
	if s.Have.Len() != 1 || !due.IsZero() {
		t.Errorf("got %d, again at %v", s.Have.Len(), due)
	}
	_, due = a.Step(s, slot.Room{Known: true}, slot.Positions{}, epoch.Add(60*time.Second))
	if want := epoch.Add(65 * time.Second); !due.Equal(want) {
		t.Errorf("got again at %v", due)
	}
}

// A clock that was set back by a day does not block a node for a day.
func TestAutoClockSetBack(t *testing.T) {
	s := slot.Scale{}
	day := 86400
	steps(slot.Auto{}, &s, slot.Room{Free: 8, Known: true}, slot.Positions{}, day, day+90)
	if got := steps(slot.Auto{}, &s, slot.Room{Free: 8, Known: true}, slot.Positions{}, 0, 200); len(got) < 4 {
		t.Errorf("got changes at %v", got)
	}
}

// For any room a node changes at most twice in any minute, stays within its bounds, and ends at the
// room once that is constant.
func TestAutoNeverOscillates(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		a := slot.Auto{UnitsPerSlot: .5 + rng.Float64(), Min: rng.IntN(3), Max: 3 + rng.IntN(10)}
		s := slot.Scale{Have: slot.First(a.Min)}
		period, swing := 2+rng.IntN(120), 12*rng.Float64()
		var changes []int
		level := 4.0
		for at := range 3000 {
			r := slot.Room{Known: rng.IntN(50) > 0, Free: level}
			switch seed % 3 {
			case 0: // a square wave
				r.Free = level + swing*float64(at/period%2)
			case 1: // a walk
				level += rng.NormFloat64() / 3
			case 2: // noise
				r.Free = level + swing*rng.NormFloat64()/4
			}
			if at >= 2000 {
				r = slot.Room{Known: true, Free: 4}
			}
			next, _ := a.Step(s, r, slot.Positions{}, epoch.Add(time.Duration(at)*time.Second))
			if next.Have != s.Have {
				changes = append(changes, at)
			}
			s = next
		}
		for i := 2; i < len(changes); i++ {
			if changes[i]-changes[i-2] < 60 {
				t.Fatalf("seed %d: got changes at %v", seed, changes[i-2:i+1])
			}
		}
		if want := a.Want(slot.Room{Free: 4}); s.Have.Len() != want {
			t.Errorf("seed %d: got %d at the end, want %d", seed, s.Have.Len(), want)
		}
	}
}
