package filter_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/filter"
)

// TestConfigBounds: what lies at a bound is taken, what lies beyond is refused.
func TestConfigBounds(t *testing.T) {
	beyond := func(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }
	for name, c := range map[string]struct {
		at, past interface{ Validate() error }
	}{
		"Norm":             {filter.Config{Norm: 1}, filter.Config{Norm: beyond(1)}},
		"Hold":             {filter.Config{Hold: 1}, filter.Config{Hold: beyond(1)}},
		"Fast":             {filter.Config{Fast: 1}, filter.Config{Fast: beyond(1)}},
		"Fast from below":  {filter.Config{Fast: 0}, filter.Config{Fast: -.1}},
		"Delta":            {filter.Config{Delta: filter.MaxMagnitude}, filter.Config{Delta: beyond(filter.MaxMagnitude)}},
		"Kappa":            {filter.Config{Kappa: 1e6}, filter.Config{Kappa: beyond(1e6)}},
		"Gain":             {filter.EMAConfig{Gain: 1}, filter.EMAConfig{Gain: beyond(1)}},
		"least Window":     {filter.MedianEMAConfig{Window: 1}, filter.MedianEMAConfig{Window: -1}},
		"largest Window":   {filter.MedianEMAConfig{Window: filter.MaxWindow}, filter.MedianEMAConfig{Window: filter.MaxWindow + 2}},
		"least Rate":       {filter.OneEuroConfig{Rate: 1e-6}, filter.OneEuroConfig{Rate: 9e-7}},
		"largest Rate":     {filter.OneEuroConfig{Rate: 1e6}, filter.OneEuroConfig{Rate: beyond(1e6)}},
		"DerivativeCutoff": {filter.OneEuroConfig{DerivativeCutoff: 1e6}, filter.OneEuroConfig{DerivativeCutoff: beyond(1e6)}},
	} {
		var fe *filter.FieldError
		if err := c.at.Validate(); err != nil {
			t.Errorf("%s at its bound: %v", name, err)
		}
		if err := c.past.Validate(); !errors.As(err, &fe) {
			t.Errorf("%s beyond its bound: error %v", name, err)
		}
	}
}

// TestStateBounds: samples and states at their bounds are taken, by a Step as by
// a Bank.
func TestStateBounds(t *testing.T) {
	const most = filter.MaxMagnitude
	for _, s := range []filter.State{
		{Level: most, Scale: 2 * most, Run: filter.DefaultN, Started: true},
		{Level: -most, Scale: 2 * most, Run: -filter.DefaultN, Started: true},
	} {
		for _, x := range []float64{most, -most} {
			if _, err := filter.Step(s, x, filter.Config{}); err != nil {
				t.Errorf("%+v, %g: %v", s, x, err)
			}
		}
		bank, err := filter.NewBank(1, filter.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := bank.SetStates([]filter.State{s}); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	// The first field that is out of range is named, not one at its bound.
	var fe *filter.FieldError
	_, err := filter.Step(filter.State{Scale: 2 * most, Run: 99, Started: true}, 0, filter.Config{})
	if !errors.As(err, &fe) || fe.Field != "Run" {
		t.Errorf("error %v, want one of Run", err)
	}

	euro, err := filter.NewOneEuro(filter.OneEuroConfig{Rate: 100})
	if err != nil {
		t.Fatal(err)
	}
	fastest := 2 * most * 100
	if _, err := euro.Step(filter.OneEuroState{Speed: fastest, Started: true}, 0); err != nil {
		t.Errorf("at the largest speed: %v", err)
	}
	if _, err := euro.Step(filter.OneEuroState{Speed: math.Nextafter(fastest, math.Inf(1)), Started: true}, 0); !errors.As(err, &fe) || fe.Field != "Speed" {
		t.Errorf("beyond the largest speed: error %v", err)
	}
}

// TestGateIncludesItsEdge: a deviation of exactly κ·v is noise.
func TestGateIncludesItsEdge(t *testing.T) {
	c := filter.Config{Norm: .5, Delta: .25, Kappa: 4}
	got := mustStep(t, filter.State{Level: 1, Scale: .125, Started: true}, 1.5, c)
	if want := (filter.State{Level: 1.25, Scale: .14375, Started: true}); !cmp.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestMedianKeepsItsGain: the default window does not bring its gain with it.
func TestMedianKeepsItsGain(t *testing.T) {
	f, err := filter.NewMedianEMA(filter.MedianEMAConfig{Gain: .25})
	if err != nil {
		t.Fatal(err)
	}
	var s filter.MedianEMAState
	for i := range 1 + (filter.DefaultWindow+1)/2 { // the median is 1 with the last
		if s, err = f.Step(s, math.Min(float64(i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	if s.Level != .25 {
		t.Errorf("level %g after the first median of 1, want .25", s.Level)
	}
}
