package capacity

import "math"

// DefaultMostPerSlot bounds the allowance to four pods a slot: with a start-up of
// a second and .4 core-seconds of CPU for start and stop, three in flight a core
// already fill the core by starting alone; with a bound of two a batch of pods of
// .1 s takes a fifth longer, with eight it gains 1 %.
const DefaultMostPerSlot = 4

// NoAllowance as AllowanceOptions.MostPerSlot grants none at all: for nodes on which
// a pod more than fits harms more than an idle slot.
const NoAllowance = -1

// fadeFrom is the free share of a channel below which the allowance fades: half
// of what pods hold may be wrong by its own size before the channel is full.
const fadeFrom = .5

// AllowanceOptions tune StartupAllowance. The zero value is the default.
type AllowanceOptions struct {
	// MostPerSlot bounds the allowance in pods per slot, in [0, 1e6] or NoAllowance; 0
	// means DefaultMostPerSlot.
	MostPerSlot float64
}

// Validate returns an ErrInvalid for the first field out of its range.
func (o AllowanceOptions) Validate() error {
	if !(o.MostPerSlot >= 0 && o.MostPerSlot <= 1e6) && o.MostPerSlot != NoAllowance {
		return refuse("MostPerSlot", o.MostPerSlot, "must be in [0, 1e6] or NoAllowance")
	}
	return nil
}

// Pace is how pods come to a node and leave it, as measured over a span in which
// recent times may count for more.
type Pace struct {
	// Ends is the number of pods that ended, ≥ 0, and Lived the time that all pods
	// ran in the same span, ended or not, in pod-seconds, ≥ 0.
	Ends, Lived float64
	// Startup is the time L from a pod's bind to its first container in seconds,
	// ≥ 0.
	Startup float64
}

// EndRate returns λ, the ends a second of a pod that runs; 1/λ is the run time:
//
//	λ = max(ends − 1, 0)/lived
//
// The time of pods that still run counts: the first pods to end are the short
// ones, and the mean of their run times alone would be far too short. The −1
// makes it unbiased for random run times, looked at as a pod ends; one end
// alone says nothing.
func (p Pace) EndRate() float64 {
	if p.Ends <= 1 || p.Lived <= 0 {
		return 0
	}
	return min((p.Ends-1)/p.Lived, math.MaxFloat64)
}

// ShortLived reports whether pods end before one that is bound now starts, L·λ ≥ 1: what
// a channel shows now will be gone by then.
func (p Pace) ShortLived() bool { return p.Startup*p.EndRate() >= 1 }

// Bounds is what an allowance has to fit in.
type Bounds struct {
	// Slots is s, the pods that keep the node busy, ≥ 0.
	Slots float64
	// Room is the pods that the channels which pods hold for good (memory) leave
	// beyond what is offered anyway; +Inf where that is not known.
	Room float64
	// Free is the least free share of these channels, in [0, 1]; 1 without any.
	Free float64
}

// StartupAllowance returns the pods that may be on their way so that a slot that
// frees up is filled at once, the product of delay and bandwidth:
//
//	s·L·λ,  at most MostPerSlot·s and Room,  times min(1, 2·Free)
//
// s slots whose pods each end λ times a second free s·λ a second, and one takes L
// seconds to be filled. Slower pods make λ smaller, so contention shrinks the
// allowance; the bounds limit what an error of the estimate can do. Below one pod
// it is 0: with pods that run for many start-ups an idle slot costs less than a
// pod too many. It returns an ErrInvalid.
func StartupAllowance(p Pace, b Bounds, o AllowanceOptions) (float64, error) {
	if err := o.Validate(); err != nil {
		return 0, err
	}
	for _, f := range [...]struct {
		name  string
		value float64
	}{{"Ends", p.Ends}, {"Lived", p.Lived}, {"Startup", p.Startup}, {"Slots", b.Slots}, {"Free", b.Free}} {
		if !(f.value >= 0 && f.value <= math.MaxFloat64) {
			return 0, refuse(f.name, f.value, "must be finite and not negative")
		}
	}
	if math.IsNaN(b.Room) {
		return 0, refuse("Room", b.Room, "must be a number")
	}
	switch o.MostPerSlot {
	case NoAllowance:
		return 0, nil
	case 0:
		o.MostPerSlot = DefaultMostPerSlot
	}
	pods := b.Slots * min(p.Startup*p.EndRate(), o.MostPerSlot)
	pods = min(pods, max(b.Room, 0), maxPods) * min(1, b.Free/fadeFrom)
	if !(pods >= 1) { // also 0·Inf
		return 0, nil
	}
	return pods, nil
}
