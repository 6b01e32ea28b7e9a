package reserve

import (
	"cmp"
	"time"
)

// OverdueAdmission bounds the time for which a pod waits for measured room. A pod that was
// refused for nothing else for MaxWait is overdue, and nodes without room take
// overdue pods, a few at a time: see [OverdueAdmission.Places]. The zero value of a field
// means its default.
type OverdueAdmission struct {
	// MaxWait is how long a pod waits before it is overdue; default
	// DefaultMaxWait.
	MaxWait time.Duration
	// Off has pods wait for room for ever.
	Off bool
}

const (
	// DefaultMaxWait is longer than a burst of load lasts and shorter than people
	// leave a pending pod alone.
	DefaultMaxWait = 10 * time.Minute
	// coresPerOverdue: where 16 cores are busy one pod more slows the others down
	// by a sixteenth.
	coresPerOverdue = 16
)

// Validate returns an ErrInvalid for a negative time.
func (o OverdueAdmission) Validate() error {
	if o.MaxWait < 0 {
		return refuse("MaxWait", o.MaxWait, "above 0, or 0 for the default")
	}
	return nil
}

// WithDefaults returns o with its zero fields replaced.
func (o OverdueAdmission) WithDefaults() OverdueAdmission {
	o.MaxWait = cmp.Or(o.MaxWait, DefaultMaxWait)
	return o
}

// Overdue reports whether a pod has waited for too long.
func (o OverdueAdmission) Overdue(waited time.Duration) bool {
	return !o.Off && waited >= o.WithDefaults().MaxWait
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
// no profile keeps a pod waiting for ever. A node with room, or one that
// refuses for another reason than want of room, has no such places.
func (o OverdueAdmission) Places(s Signal, f Flight, d Demand, running, cores int, r Rules) int {
	most := max(1, cores/coresPerOverdue) - running
	if v := NewView(s, f, r); o.Off || most <= 0 || !v.Fits(d).Full() {
		return 0
	}
	return min(most, slots(s, f, d, r, func(v View) bool { return v.fits(&d, askedOverdue) == Admitted }))
}
