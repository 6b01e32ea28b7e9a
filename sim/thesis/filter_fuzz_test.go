package thesis_test

import (
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// FuzzBaselines starts each baseline from any state.
func FuzzBaselines(f *testing.F) {
	f.Add(0.5, 0.1, 2, true, 0.9, 0.3, 5, 1.0)
	f.Add(1e300, -2e307, 14, true, -1e300, 1.0, 15, 1e6)
	f.Add(1.0, 0.0, 0, true, 1e-17, 0.0, 0, 0.0)
	f.Fuzz(func(t *testing.T, level, other float64, next int, started bool, x, gain float64, window int, beta float64) {
		if e := (thesis.EMA{Gain: gain}); e.Validate() == nil {
			approaches(t, e, thesis.EMAState{Level: level, Started: started}, x, level, started)
		}
		if m := (thesis.MedianEMA{Window: window, Gain: gain}); m.Validate() == nil {
			s := thesis.MedianEMAState{Level: level, Next: next, Started: started}
			for i := range s.Recent {
				s.Recent[i] = other / float64(i+1)
			}
			approaches(t, m, s, x, min(level, other, 0), false)
		}
		if o := (thesis.OneEuro{Rate: gain, Beta: beta, MinCutoff: beta}); o.Validate() == nil {
			approaches(t, o, thesis.OneEuroState{Level: level, Speed: other, Started: started}, x, level, started)
		}
	})
}

// approaches steps twice: an error leaves the state, a level is finite and,
// if told so, between the last level and x.
func approaches[S comparable](t *testing.T, f thesis.Scalar[S], s S, x, level float64, between bool) {
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
