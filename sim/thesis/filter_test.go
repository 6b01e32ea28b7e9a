package thesis_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// The zero value of each filter is the one with the defaults named.
func TestZeroFiltersAreDefaults(t *testing.T) {
	xs := signal(rand.New(rand.NewPCG(1, 11)), 300)
	dynamic, err := filter.NewDynamic(filter.Config{})
	for _, pair := range [][2]contender{
		{contend[filter.State]("dynamic", filter.Dynamic{}, nil), contend[filter.State]("", dynamic, err)},
		{contend[thesis.EMAState]("EMA", thesis.EMA{}, nil), contend[thesis.EMAState]("", thesis.EMA{Gain: .3}, nil)},
		{contend[thesis.MedianEMAState]("median", thesis.MedianEMA{}, nil), contend[thesis.MedianEMAState]("", thesis.MedianEMA{Window: 9, Gain: .8}, nil)},
		{contend[thesis.OneEuroState]("One Euro", thesis.OneEuro{}, nil), contend[thesis.OneEuroState]("", thesis.OneEuro{Rate: 10, MinCutoff: .682, Beta: 1, DerivativeCutoff: 1}, nil)},
	} {
		if diff := cmp.Diff(pair[1].smooth(t, xs), pair[0].smooth(t, xs)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", pair[0].name, diff)
		}
	}
}

// No level leaves the hull of the samples.
func TestBaselineHull(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 12))
	for _, c := range contenders() {
		xs := signal(rng, 500)
		low, high := math.Inf(1), math.Inf(-1)
		for i, m := range c.smooth(t, xs) {
			low, high = math.Min(low, xs[i]), math.Max(high, xs[i])
			if m < low || m > high {
				t.Fatalf("%s: level %g outside [%g, %g]", c.name, m, low, high)
			}
		}
	}
}

// rejects fails unless every state is refused with an error that names the field
// and comes back unchanged.
func rejects[S any](t *testing.T, f thesis.Scalar[S], s S, x float64, name string, cause error) {
	t.Helper()
	got, err := f.Step(s, x)
	var fe *field.Error
	if !errors.As(err, &fe) || !errors.Is(err, cause) || fe.Field != name {
		t.Errorf("%+v, %g: error %v, want %s: %v", s, x, err, name, cause)
	}
	if !cmp.Equal(got, s, cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })) {
		t.Errorf("%+v has changed to %+v", s, got)
	}
}

func TestBaselinesReject(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rejects(t, thesis.EMA{Gain: 2}, thesis.EMAState{Level: 1, Started: true}, 1, "Gain", filter.ErrRange)
	rejects(t, thesis.MedianEMA{Window: 4}, thesis.MedianEMAState{}, 1, "Window", filter.ErrRange)
	rejects(t, thesis.OneEuro{Beta: -1}, thesis.OneEuroState{}, 1, "Beta", filter.ErrRange)
	rejects[thesis.EMAState](t, thesis.EMA{}, thesis.EMAState{Level: 1, Started: true}, nan, "x", filter.ErrNotFinite)
	rejects[thesis.EMAState](t, thesis.EMA{}, thesis.EMAState{Level: inf, Started: true}, 1, "Level", filter.ErrNotFinite)
	rejects[thesis.MedianEMAState](t, thesis.MedianEMA{}, thesis.MedianEMAState{}, 1e301, "x", filter.ErrRange)
	rejects[thesis.MedianEMAState](t, thesis.MedianEMA{}, thesis.MedianEMAState{Level: nan}, 1, "Level", filter.ErrNotFinite)
	rejects[thesis.MedianEMAState](t, thesis.MedianEMA{}, thesis.MedianEMAState{Next: 9}, 1, "Next", filter.ErrRange)
	rejects[thesis.MedianEMAState](t, thesis.MedianEMA{}, thesis.MedianEMAState{Recent: [15]float64{2: nan}}, 1, "Recent[2]", filter.ErrNotFinite)
	rejects[thesis.OneEuroState](t, thesis.OneEuro{}, thesis.OneEuroState{}, -inf, "x", filter.ErrNotFinite)
	rejects[thesis.OneEuroState](t, thesis.OneEuro{}, thesis.OneEuroState{Level: -2e300}, 1, "Level", filter.ErrRange)
	rejects[thesis.OneEuroState](t, thesis.OneEuro{}, thesis.OneEuroState{Speed: nan}, 1, "Speed", filter.ErrNotFinite)

	for name, c := range map[string]struct{ err error }{
		"Gain":             {thesis.EMA{Gain: nan}.Validate()},
		"Gain of a median": {thesis.MedianEMA{Gain: 1.1}.Validate()},
		"Window":           {thesis.MedianEMA{Window: -1}.Validate()},
		"Rate":             {thesis.OneEuro{Rate: 1e7}.Validate()},
		"MinCutoff":        {thesis.OneEuro{MinCutoff: nan}.Validate()},
		"Beta":             {thesis.OneEuro{Beta: inf}.Validate()},
		"DerivativeCutoff": {thesis.OneEuro{DerivativeCutoff: 1e-9}.Validate()},
	} {
		var fe *field.Error
		if !errors.As(c.err, &fe) {
			t.Errorf("%s: error %v", name, c.err)
		}
	}
}

// TestConfigBounds: what lies at a bound is taken, what lies beyond is refused.
func TestConfigBounds(t *testing.T) {
	beyond := func(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }
	for name, c := range map[string]struct {
		at, past interface{ Validate() error }
	}{
		"Gain":             {thesis.EMA{Gain: 1}, thesis.EMA{Gain: beyond(1)}},
		"least Window":     {thesis.MedianEMA{Window: 1}, thesis.MedianEMA{Window: -1}},
		"largest Window":   {thesis.MedianEMA{Window: 15}, thesis.MedianEMA{Window: 17}},
		"least Rate":       {thesis.OneEuro{Rate: 1e-6}, thesis.OneEuro{Rate: 9e-7}},
		"largest Rate":     {thesis.OneEuro{Rate: 1e6}, thesis.OneEuro{Rate: beyond(1e6)}},
		"DerivativeCutoff": {thesis.OneEuro{DerivativeCutoff: 1e6}, thesis.OneEuro{DerivativeCutoff: beyond(1e6)}},
	} {
		var fe *field.Error
		if err := c.at.Validate(); err != nil {
			t.Errorf("%s at its bound: %v", name, err)
		}
		if err := c.past.Validate(); !errors.As(err, &fe) {
			t.Errorf("%s beyond its bound: error %v", name, err)
		}
	}
}

// TestSpeedBounds: a speed at its bound is taken, one beyond is refused.
func TestSpeedBounds(t *testing.T) {
	const most = filter.MaxMagnitude
	var fe *field.Error
	euro := thesis.OneEuro{Rate: 100}
	fastest := 2 * most * 100
	if _, err := euro.Step(thesis.OneEuroState{Speed: fastest, Started: true}, 0); err != nil {
		t.Errorf("at the largest speed: %v", err)
	}
	if _, err := euro.Step(thesis.OneEuroState{Speed: math.Nextafter(fastest, math.Inf(1)), Started: true}, 0); !errors.As(err, &fe) || fe.Field != "Speed" {
		t.Errorf("beyond the largest speed: error %v", err)
	}
}

// TestMedianKeepsItsGain: the default window does not bring its gain with it.
func TestMedianKeepsItsGain(t *testing.T) {
	f := thesis.MedianEMA{Gain: .25}
	var s thesis.MedianEMAState
	for i := range 1 + (9+1)/2 { // the median is 1 with the last
		var err error
		if s, err = f.Step(s, math.Min(float64(i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	if s.Level != .25 {
		t.Errorf("level %g after the first median of 1, want .25", s.Level)
	}
}

// signal is noise around a level that jumps now and then.
func signal(rng *rand.Rand, n int) []float64 {
	level, noise := rng.Float64(), 0.1*rng.Float64()
	out := make([]float64, n)
	for i := range out {
		if rng.IntN(12) == 0 {
			level = rng.Float64()
		}
		out[i] = level + noise*rng.NormFloat64()
	}
	return out
}

func TestFiltersAllocate(t *testing.T) {
	for _, c := range contenders() {
		step := c.new()
		if n := testing.AllocsPerRun(100, func() { _, _ = step(.1) }); n != 0 {
			t.Errorf("%s makes %g allocations", c.name, n)
		}
	}
}

// steady is a noisy level with a spike now and then, as a node's telemetry
// is.
func steady(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 8))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 0.4 + 0.02*rng.NormFloat64()
		if rng.IntN(40) == 0 {
			xs[i] += 0.3
		}
	}
	return xs
}

// BenchmarkBaselines measures a step of each contender on one channel.
func BenchmarkBaselines(b *testing.B) {
	xs := steady(4096)
	for _, c := range contenders() {
		switch c.name {
		case "dynamic", "EMA .3", "median 9, EMA .8", "One Euro":
			b.Run(c.name, func(b *testing.B) {
				step := c.new()
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if _, err := step(xs[i%4096]); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}
