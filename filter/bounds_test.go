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
		"Norm":            {filter.Config{Norm: 1}, filter.Config{Norm: beyond(1)}},
		"Hold":            {filter.Config{Hold: 1}, filter.Config{Hold: beyond(1)}},
		"Fast":            {filter.Config{Fast: 1}, filter.Config{Fast: beyond(1)}},
		"Fast from below": {filter.Config{Fast: 0}, filter.Config{Fast: -.1}},
		"Delta":           {filter.Config{Delta: filter.MaxMagnitude}, filter.Config{Delta: beyond(filter.MaxMagnitude)}},
		"Kappa":           {filter.Config{Kappa: 1e6}, filter.Config{Kappa: beyond(1e6)}},
	} {
		if err := c.at.Validate(); err != nil {
			t.Errorf("%s at its bound: %v", name, err)
		}
		if err := c.past.Validate(); !errors.Is(err, filter.ErrRange) {
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
	_, err := filter.Step(filter.State{Scale: 2 * most, Run: 99, Started: true}, 0, filter.Config{})
	if !names(err, "Run") {
		t.Errorf("error %v, want one of Run", err)
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
