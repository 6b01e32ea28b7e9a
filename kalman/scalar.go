package kalman

import "math"

// Scalar is the one-dimensional Kalman filter, which the dual filters are made
// of: an estimate X with variance P. It is a plain value.
type Scalar struct {
	X, P float64
}

// Step takes a measurement z = h·x + noise of variance r > 0, of an x that has
// drifted by noise of variance q ≥ 0 since the last:
//
//	P += q,  S = h²·P + r,  x += (P·h/S)·(z − h·x),  P *= r/S
//
// The last is (1 − K·h)·P in a form that cannot become negative. An argument
// that is not finite or out of range, or a result that overflows, is a
// *FieldError and returns s as it was. Step is pure.
func (s Scalar) Step(z, h, q, r float64) (Scalar, error) {
	for _, f := range [...]struct {
		name       string
		value, low float64
	}{
		{"z", z, -math.MaxFloat64}, {"h", h, -math.MaxFloat64}, {"q", q, 0}, {"r", r, math.SmallestNonzeroFloat64},
		{"X", s.X, -math.MaxFloat64}, {"P", s.P, 0},
	} {
		if !(f.value >= f.low && f.value <= math.MaxFloat64) {
			return s, refuse(f.name, f.value, "is not finite or out of range")
		}
	}
	p := s.P + q
	variance := h*h*p + r
	next := Scalar{X: s.X + p*h/variance*(z-h*s.X), P: p * (r / variance)}
	if !(math.Abs(next.X) <= math.MaxFloat64 && next.P <= math.MaxFloat64) {
		return s, refuse("z", z, "the estimate overflows")
	}
	return next, nil
}
