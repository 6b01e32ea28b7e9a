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

// FuzzBaselines starts each baseline from any state.
func FuzzBaselines(f *testing.F) {
	f.Add(0.5, 0.1, 2, true, 0.9, 0.3, 5, 1.0)
	f.Add(1e300, -2e307, 14, true, -1e300, 1.0, 15, 1e6)
	f.Add(1.0, 0.0, 0, true, 1e-17, 0.0, 0, 0.0)
	f.Fuzz(func(t *testing.T, level, other float64, next int, started bool, x, gain float64, window int, beta float64) {
		if e, err := filter.NewEMA(filter.EMAConfig{Gain: gain}); err == nil {
			approaches(t, e, filter.EMAState{Level: level, Started: started}, x, level, started)
		}
		if m, err := filter.NewMedianEMA(filter.MedianEMAConfig{Window: window, Gain: gain}); err == nil {
			s := filter.MedianEMAState{Level: level, Next: next, Started: started}
			for i := range s.Recent {
				s.Recent[i] = other / float64(i+1)
			}
			approaches(t, m, s, x, min(level, other, 0), false)
		}
		if o, err := filter.NewOneEuro(filter.OneEuroConfig{Rate: gain, Beta: beta, MinCutoff: beta}); err == nil {
			approaches(t, o, filter.OneEuroState{Level: level, Speed: other, Started: started}, x, level, started)
		}
	})
}

// approaches steps twice: an error leaves the state, a level is finite and,
// if told so, between the last level and x.
func approaches[S comparable](t *testing.T, f filter.Scalar[S], s S, x, level float64, between bool) {
	t.Helper()
	next, err := f.Step(s, x)
	if err != nil {
		if next != s && s == s {
			t.Fatalf("changed by a rejected sample: %+v to %+v", s, next)
		}
		return
	}
	got := f.Level(next)
	if between && !(got >= min(level, x) && got <= max(level, x)) || !(math.Abs(got) <= filter.MaxMagnitude) {
		t.Fatalf("%+v after %g: %+v", s, x, next)
	}
	if _, err := f.Step(next, x); err != nil {
		t.Fatalf("%+v is not taken back: %v", next, err)
	}
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
