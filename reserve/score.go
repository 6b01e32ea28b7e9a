package reserve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Ranking holds the options of Score. The zero value ranks by free room alone.
type Ranking struct {
	// Blend is w in [0,1], the weight of k; default 0.
	Blend float64
	// Energy is e in [0,1], the weight of a node's goodness for the pod in energy;
	// default 0. Blend and Energy together are at most 1.
	Energy float64
	// TieTolerance is the difference in free pods below which two nodes count as
	// tied and chance may decide; default ½, for a signal is no finer than half
	// a pod. Range (0, ∞).
	TieTolerance float64
}

// DefaultTieTolerance is half a pod.
const DefaultTieTolerance = .5

// maxScore is the highest normalised score, as kube-scheduler wants it.
const maxScore = 100

// Validate returns an ErrInvalid for a field out of its range.
func (r Ranking) Validate() error {
	if !(r.Blend >= 0 && r.Blend <= 1) {
		return refuse("Blend", r.Blend, "in [0,1]")
	}
	if !(r.Energy >= 0 && r.Blend+r.Energy <= 1) {
		return refuse("Energy", r.Energy, fmt.Sprintf("in [0,1], and at most 1 together with Blend %g", r.Blend))
	}
	if !(r.TieTolerance >= 0) || math.IsInf(r.TieTolerance, 1) {
		return refuse("TieTolerance", r.TieTolerance, "a finite number above 0, or 0 for the default")
	}
	return nil
}

// Score returns the raw score of a node,
//
//	(free + u·TieTolerance)^(1−w−e) · k^w · g^e
//
// with free in pods, k in typical loads, g the node's goodness for the pod in
// energy and u ∈ [0,1) a number the caller drew: nodes closer than TieTolerance change
// places by chance, so that schedulers that see the same reports do not all choose
// the same node. u = 0 is deterministic. The blend is a geometric mean because the
// unit of k moves with the fleet's typical load, and that of g has no meaning: a
// factor common to all nodes cancels in NormalizeTo. A negative or NaN factor counts
// as 0, except that a NaN g means that no node's goodness is known, and e then counts as 0.
//
// If e is above 0 and g is a number, only the first 2.75 pods of room have the exponent 1−w−e. The
// room beyond, as a multiple of these, has 1−w−2e, or 0 if that is negative, because power that falls
// as a node fills would save nothing if room fell as fast. And u then reduces the room,
// free − u·TieTolerance, because energy fills an efficient node to its last pod, where adding chance
// would exceed its room.
func Score(free, k, g, u float64, r Ranking) float64 {
	width, energy := cmp.Or(r.TieTolerance, DefaultTieTolerance), r.Energy
	if math.IsNaN(g) {
		energy = 0
	}
	room, score, rest := free+u*width, 1., 1-r.Blend-energy
	switch {
	case energy == 0 && !(room > 0):
		return 0
	case energy > 0:
		room = free - u*width
	}
	if energy > 0 && room > ample {
		if more := rest - energy; more >= leastWeight {
			score = math.Pow(room/ample, more)
		}
		room = ample
	}
	for _, f := range [...]struct{ value, weight float64 }{{g, energy}, {room, rest}, {k, r.Blend}} {
		switch {
		case f.weight < leastWeight:
		case !(f.value > 0):
			return 0
		default:
			score *= math.Pow(f.value, f.weight)
		}
	}
	return score
}

// ample is room in pods of which an error of a pod or two leaves enough.
// docs/energy.md has what it comes to on nodes of 4, 16 and 64 cores.
const ample = 2.75

// leastWeight is more than what rounding leaves of 1 after two weights.
const leastWeight = 1e-9

// NormalizeTo writes to dst the raw scores of the feasible nodes as whole
// numbers in proportion to the highest, which becomes 100, and returns
// dst, grown as by append; nil allocates. A NaN is a node without a signal: it
// gets the midpoint of the lowest and the highest of the others, or 50
// where there are no others. Raw scores below 0 count as 0.
func NormalizeTo(dst []int64, raw []float64) []int64 {
	dst = slices.Grow(dst[:0], len(raw))[:len(raw)]
	top := 0.
	for _, x := range raw {
		if x > top {
			top = min(x, math.MaxFloat64)
		}
	}
	low, high := int64(maxScore), int64(0) // their midpoint is 50 where there are no others
	for i, x := range raw {
		if dst[i] = proportion(x, top); !math.IsNaN(x) {
			low, high = min(low, dst[i]), max(high, dst[i])
		}
	}
	for i, x := range raw {
		if math.IsNaN(x) {
			dst[i] = (low + high) / 2
		}
	}
	return dst
}

// proportion returns x/top in hundredths, 0 to maxScore, and 0 for a NaN.
func proportion(x, top float64) int64 {
	if !(x > 0) || top == 0 {
		return 0
	}
	return int64(maxScore*min(x/top, 1) + .5)
}

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

// Places returns how many overdue pods of the given demand a node takes now, one after the
// other, although Fits refuses them for want of room. The node's signal must be fresh.
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
