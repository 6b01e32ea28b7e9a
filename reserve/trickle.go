package reserve

import (
	"time"
)

// Trickle bounds the time for which a pod waits for measured room. One that was
// refused for nothing else for MaxWait is overdue, and nodes without room take
// overdue pods, a few at a time: see [Trickle.Places]. The zero value of a field
// means its default.
type Trickle struct {
	// MaxWait is how long a pod waits before it is overdue; default
	// DefaultMaxWait.
	MaxWait time.Duration
	// Off has pods wait for room for ever.
	Off bool
}

const (
	// DefaultMaxWait is longer than a burst of load lasts and shorter than anybody
	// leaves a pending pod alone.
	DefaultMaxWait = 10 * time.Minute
	// coresPerOverdue: where 16 cores are busy one pod more slows the others down
	// by a sixteenth.
	coresPerOverdue = 16
)

// Validate returns an ErrInvalid for a negative time.
func (t Trickle) Validate() error {
	if t.MaxWait < 0 {
		return refuse("MaxWait", t.MaxWait, "above 0, or 0 for the default")
	}
	return nil
}

// WithDefaults returns t with its zero fields replaced.
func (t Trickle) WithDefaults() Trickle {
	if t.MaxWait == 0 {
		t.MaxWait = DefaultMaxWait
	}
	return t
}

// Overdue says whether a pod has waited for too long.
func (t Trickle) Overdue(waited time.Duration) bool {
	return !t.Off && waited >= t.WithDefaults().MaxWait
}

// Places returns how many overdue pods of the given demand a node takes now that
// Fits would refuse it, one after the other, 0 or more. Its signal must be fresh.
//
//	running < max(1, cores/16)     running are the overdue pods that it already has
//	memory − inflight − held ≥ max(demand, ε)
//	slow start's line holds
//
// The CPU is shared, so one pod too many slows the others down; memory is not,
// so a pod too many has one killed. A known pod counts as a typical one, so that
// none waits for ever for what is known of it. A node with room, or one that
// refuses for anything but want of room, has no such places.
func (t Trickle) Places(s Signal, f Flight, d Demand, running, cores int, r Rules) int {
	r = r.WithDefaults()
	if !Fits(s, f, d, r).Full() {
		return 0
	}
	most := max(1, cores/coresPerOverdue) - running
	if t.Off || most <= 0 {
		return 0
	}
	return min(most, slots(f, d, func(f Flight) bool {
		return Free(s.MemoryRoom, f) >= r.least(&d) && f.starting() < Limit(s, r)
	}))
}
