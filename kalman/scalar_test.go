package kalman_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// TestScalarIsRegression: without drift the filter is the least-squares fit of
// z = h·x with the prior as one more observation.
func TestScalarIsRegression(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	const x0, p0, r = .3, .5, .04
	s := kalman.Scalar{X: x0, P: p0}
	zh, hh := x0/p0, 1/p0
	for range 200 {
		h := rng.NormFloat64()
		z := .7*h + .2*rng.NormFloat64()
		var err error
		if s, err = s.Step(z, h, 0, r); err != nil {
			t.Fatal(err)
		}
		zh, hh = zh+z*h/r, hh+h*h/r
		if math.Abs(s.X-zh/hh) > 1e-12 || math.Abs(s.P-1/hh) > 1e-12 {
			t.Fatalf("x = %v ± %v, least squares %v ± %v", s.X, s.P, zh/hh, 1/hh)
		}
	}
}

// TestScalarSettles: under drift P settles where P²/(P + r) = q.
func TestScalarSettles(t *testing.T) {
	s := kalman.Scalar{P: 1}
	for range 1000 {
		s, _ = s.Step(2, 1, .01, .04)
	}
	if p := s.P + .01; math.Abs(p*p/(p+.04)-.01) > 1e-12 || math.Abs(s.X-2) > 1e-12 {
		t.Errorf("settled at %+v", s)
	}
}

func TestScalarRejects(t *testing.T) {
	s := kalman.Scalar{X: 1, P: 1}
	for field, a := range map[string][4]float64{
		"z": {math.NaN(), 1, 0, 1}, "h": {1, math.Inf(1), 0, 1}, "q": {1, 1, -1, 1}, "r": {1, 1, 0, 0},
	} {
		got, err := s.Step(a[0], a[1], a[2], a[3])
		var fe *kalman.FieldError
		if !errors.As(err, &fe) || fe.Field != field || got != s {
			t.Errorf("%s: %v, state %+v", field, err, got)
		}
	}
}

func FuzzScalar(f *testing.F) {
	f.Add(1.0, 1.0, 2.0, 1.0, .01, .04)
	f.Add(math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, 1e300, 1e300, 5e-324)
	f.Fuzz(func(t *testing.T, x, p, z, h, q, r float64) {
		s := kalman.Scalar{X: x, P: p}
		next, err := s.Step(z, h, q, r)
		if err != nil {
			if math.Float64bits(next.X) != math.Float64bits(x) || math.Float64bits(next.P) != math.Float64bits(p) {
				t.Fatalf("a rejected step changed %+v to %+v", s, next)
			}
			return
		}
		if math.IsNaN(next.X) || math.IsInf(next.X, 0) || !(next.P >= 0) || math.IsInf(next.P, 0) {
			t.Fatalf("%+v", next)
		}
	})
}
