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
	if _, err := filter.NewVector[filter.EMAState](0, filter.EMA{}); !errors.Is(err, filter.ErrRange) {
		t.Errorf("error %v, want ErrRange", err)
	}
	if _, err := filter.NewVector[filter.EMAState](1, nil); !errors.Is(err, filter.ErrNil) {
		t.Errorf("error %v, want ErrNil", err)
	}
}

// strict refuses samples above 1, after the checks of Vector.
type strict struct{ filter.EMA }

var errStrict = errors.New("too much")

func (f strict) Step(s filter.EMAState, x float64) (filter.EMAState, error) {
	if x > 1 {
		return s, errStrict
	}
	return f.EMA.Step(s, x)
}

// A rejected vector moves no channel, also where the Scalar rejects it.
func TestVectorIsAllOrNothing(t *testing.T) {
	v, err := filter.NewVector[filter.EMAState](2, strict{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.StepTo(nil, []float64{0.1, 0.2}); err != nil {
		t.Fatal(err)
	}
	before := v.StatesTo(nil)
	for _, c := range []struct {
		x     []float64
		cause error
	}{
		{[]float64{0.5, 2}, errStrict},
		{[]float64{0.5, math.NaN()}, filter.ErrNotFinite},
		{[]float64{0.5}, filter.ErrLength},
	} {
		dst := []float64{7, 7}
		if _, err := v.StepTo(dst, c.x); !errors.Is(err, c.cause) {
			t.Errorf("error %v, want %v", err, c.cause)
		}
		if !cmp.Equal(dst, []float64{7, 7}) || !cmp.Equal(before, v.StatesTo(nil)) {
			t.Errorf("a rejected vector has changed dst to %v or a state", dst)
		}
	}
}
