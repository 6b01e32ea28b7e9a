package filter_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/filter"
)

// FuzzStep starts from any state and any configuration.
func FuzzStep(f *testing.F) {
	f.Add(0.5, 0.01, 2, true, 0.9, 5, 0.3, 0.05, 0.8, 0.03, 4.0)
	f.Add(1e300, 2e300, -7, true, -1e300, 1, 1.0, 1.0, 1.0, 1e300, 1e6)
	f.Add(1.0, 0.0, math.MaxInt32, true, 1e-17, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
	f.Fuzz(func(t *testing.T, level, scale float64, length int, started bool, x float64, n int, norm, hold, fast, delta, kappa float64) {
		s := filter.State{Level: level, Scale: scale, Run: length, Started: started}
		c := filter.Config{N: n, Norm: norm, Hold: hold, Fast: fast, Delta: delta, Kappa: kappa}
		next, err := filter.Step(s, x, c)
		if err != nil {
			if next.Run != s.Run || next.Started != s.Started ||
				math.Float64bits(next.Level) != math.Float64bits(s.Level) ||
				math.Float64bits(next.Scale) != math.Float64bits(s.Scale) {
				t.Fatalf("changed by a rejected sample: %+v to %+v", s, next)
			}
			return
		}
		low, high := min(x, level), max(x, level)
		if !started {
			low, high = x, x
		}
		if !(next.Level >= low && next.Level <= high) || !next.Started {
			t.Fatalf("%+v after %g: %+v", s, x, next)
		}
		if _, err := filter.Step(next, x, c); err != nil {
			t.Fatalf("%+v is not taken back: %v", next, err)
		}
	})
}

// FuzzBank compares a Bank with Step channel by channel.
func FuzzBank(f *testing.F) {
	f.Add(0.1, 0.2, 0.9, 0.8)
	f.Add(math.NaN(), 0.2, math.Inf(1), 1e301)
	f.Fuzz(func(t *testing.T, a, b, c, d float64) {
		bank, err := filter.NewBank(2, filter.Config{})
		if err != nil {
			t.Fatal(err)
		}
		states := make([]filter.State, 2)
		for _, x := range [][]float64{{a, b}, {c, d}, {b, c}, {d, a}, {a, c}} {
			got, err := bank.StepTo(nil, x)
			s0, err0 := filter.Step(states[0], x[0], filter.Config{})
			s1, err1 := filter.Step(states[1], x[1], filter.Config{})
			if (err == nil) != (err0 == nil && err1 == nil) {
				t.Fatalf("%v: %v, but %v and %v", x, err, err0, err1)
			}
			if err == nil {
				states = []filter.State{s0, s1}
				if diff := cmp.Diff([]float64{s0.Level, s1.Level}, got); diff != "" {
					t.Fatalf("(-want +got)\n%s", diff)
				}
			}
			if diff := cmp.Diff(states, bank.StatesTo(nil)); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
		}
	})
}
