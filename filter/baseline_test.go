package filter_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/filter"
)

// The zero value of each filter is what its constructor makes of the zero
// Config.
func TestZeroFiltersAreDefaults(t *testing.T) {
	xs := signal(rand.New(rand.NewPCG(1, 11)), 300)
	dynamic, err1 := filter.NewDynamic(filter.Config{})
	ema, err2 := filter.NewEMA(filter.EMAConfig{})
	median, err3 := filter.NewMedianEMA(filter.MedianEMAConfig{})
	euro, err4 := filter.NewOneEuro(filter.OneEuroConfig{})
	for _, pair := range [][2]contender{
		{contend[filter.State]("dynamic", filter.Dynamic{}, nil), contend[filter.State]("", dynamic, err1)},
		{contend[filter.EMAState]("EMA", filter.EMA{}, nil), contend[filter.EMAState]("", ema, err2)},
		{contend[filter.MedianEMAState]("median", filter.MedianEMA{}, nil), contend[filter.MedianEMAState]("", median, err3)},
		{contend[filter.OneEuroState]("One Euro", filter.OneEuro{}, nil), contend[filter.OneEuroState]("", euro, err4)},
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

// rejects fails unless every state is refused with an error that names field
// and comes back unchanged.
func rejects[S any](t *testing.T, f filter.Scalar[S], s S, x float64, field string, cause error) {
	t.Helper()
	got, err := f.Step(s, x)
	var fe *filter.FieldError
	if !errors.As(err, &fe) || !errors.Is(err, cause) || fe.Field != field {
		t.Errorf("%+v, %g: error %v, want %s: %v", s, x, err, field, cause)
	}
	if !cmp.Equal(got, s, cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })) {
		t.Errorf("%+v has changed to %+v", s, got)
	}
}

func TestBaselinesReject(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rejects[filter.EMAState](t, filter.EMA{}, filter.EMAState{Level: 1, Started: true}, nan, "x", filter.ErrNotFinite)
	rejects[filter.EMAState](t, filter.EMA{}, filter.EMAState{Level: inf, Started: true}, 1, "Level", filter.ErrNotFinite)
	rejects[filter.MedianEMAState](t, filter.MedianEMA{}, filter.MedianEMAState{}, 1e301, "x", filter.ErrRange)
	rejects[filter.MedianEMAState](t, filter.MedianEMA{}, filter.MedianEMAState{Level: nan}, 1, "Level", filter.ErrNotFinite)
	rejects[filter.MedianEMAState](t, filter.MedianEMA{}, filter.MedianEMAState{Next: 9}, 1, "Next", filter.ErrRange)
	rejects[filter.MedianEMAState](t, filter.MedianEMA{}, filter.MedianEMAState{Recent: [filter.MaxWindow]float64{2: nan}}, 1, "Recent[2]", filter.ErrNotFinite)
	rejects[filter.OneEuroState](t, filter.OneEuro{}, filter.OneEuroState{}, -inf, "x", filter.ErrNotFinite)
	rejects[filter.OneEuroState](t, filter.OneEuro{}, filter.OneEuroState{Level: -2e300}, 1, "Level", filter.ErrRange)
	rejects[filter.OneEuroState](t, filter.OneEuro{}, filter.OneEuroState{Speed: nan}, 1, "Speed", filter.ErrNotFinite)

	for name, c := range map[string]struct{ err error }{
		"Gain":             {filter.EMAConfig{Gain: nan}.Validate()},
		"Gain of a median": {filter.MedianEMAConfig{Gain: 1.1}.Validate()},
		"Window":           {filter.MedianEMAConfig{Window: -1}.Validate()},
		"Rate":             {filter.OneEuroConfig{Rate: 1e7}.Validate()},
		"MinCutoff":        {filter.OneEuroConfig{MinCutoff: nan}.Validate()},
		"Beta":             {filter.OneEuroConfig{Beta: inf}.Validate()},
		"DerivativeCutoff": {filter.OneEuroConfig{DerivativeCutoff: 1e-9}.Validate()},
	} {
		var fe *filter.FieldError
		if !errors.As(c.err, &fe) {
			t.Errorf("%s: error %v", name, c.err)
		}
	}
}
