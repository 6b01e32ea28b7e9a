package capacity

import "math"

const (
	// DefaultEpsilon is below any demand a 10 Hz sample can resolve (one
	// microsecond of a 100 ms interval is 1e−5 of a core).
	DefaultEpsilon = 1e-6
	// DefaultMax bounds the signal of an idle fleet, whose typical load is
	// almost nothing.
	DefaultMax = 100
)

// Options tune Solve. The zero value is the default.
type Options struct {
	// Epsilon is the demand ε below which a channel does not limit; 0 means
	// DefaultEpsilon.
	Epsilon float64
	// Max is K_max, the largest signal reported; 0 means DefaultMax.
	Max float64
}

// Validate returns an ErrInvalid for the first field out of its range.
func (o Options) Validate() error {
	if !(o.Epsilon >= 0) || math.IsInf(o.Epsilon, 0) {
		return refuse("Epsilon", o.Epsilon, "must be finite and not negative")
	}
	if !(o.Max >= 0) || math.IsInf(o.Max, 0) {
		return refuse("Max", o.Max, "must be finite and not negative")
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Epsilon == 0 {
		o.Epsilon = DefaultEpsilon
	}
	if o.Max == 0 {
		o.Max = DefaultMax
	}
	return o
}

// Flags qualify a Result: each is a reason to trust its figures less.
type Flags uint8

const (
	// NoModel: no channel has demand (q ≡ 0), so K is Max for want of a model.
	NoModel Flags = 1 << iota
	// Clamped: more than Max typical loads would fit.
	Clamped
	// Full: a channel has y_i ≥ 1.
	Full
)

// Result is the signal of a node.
type Result struct {
	// K is the number of typical loads that still fit, in [0, Max].
	K float64
	// Limiting is the channel that is full first, −1 where none limits.
	Limiting int
	Flags    Flags
}

// Solve returns the signal k of usage y under demand q, both of d channels
// (thesis eqs. 3.10, 3.11). Every y_i and q_i must be finite and q_i ≥ 0; y_i
// may exceed 1. Ties go to the lower channel. It returns an ErrInvalid or ErrLength.
func Solve(y, q []float64, o Options) (Result, error) {
	if len(q) != len(y) {
		return Result{}, refuseLength("q", len(q), len(y))
	}
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	o = o.withDefaults()
	least, limiting, flags := math.Inf(1), -1, NoModel
	for i, yi := range y {
		qi := q[i]
		if !(yi >= -math.MaxFloat64 && yi <= math.MaxFloat64 && qi >= 0 && qi <= math.MaxFloat64) {
			return Result{}, refuseLoad(i, yi, qi)
		}
		k := 0.
		if qi > o.Epsilon {
			flags &^= NoModel
			k = (1 - yi) / qi
		} else if yi < 1 {
			k = math.Inf(1) // does not limit
		}
		if yi >= 1 {
			flags |= Full
		}
		if k < least {
			least, limiting = k, i
		}
	}
	r := Result{least, limiting, flags}
	r.clamp(o)
	return r, nil
}

// refuseLoad returns an error that names which of y[i] and q[i] is out of range.
func refuseLoad(i int, y, q float64) error {
	if !finite(y) {
		return refuseElement("y", i, y, "must be finite")
	}
	return refuseElement("q", i, q, "must be finite and not negative")
}

func finite(v float64) bool { return v >= -math.MaxFloat64 && v <= math.MaxFloat64 }

func (r *Result) clamp(o Options) {
	if r.K > o.Max {
		r.K = o.Max
		r.Flags |= Clamped
		return
	}
	r.K = max(r.K, 0)
}
