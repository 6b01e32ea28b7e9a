package energy_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

// TestGoodness by hand, for a pod of one core on a node of 8 that takes 100 W, 40 of them idle, and
// 200 at full load: 20 W a core, 3 busy.
func TestGoodness(t *testing.T) {
	node := energy.Power{Quality: energy.Measured, Watts: 100, Max: 200, Idle: 40, Marginal: 20, Busy: 3, Cores: 8}
	empty, full, flat := node, node, node
	empty.Busy, empty.Watts = 0, 40
	full.Busy = 7.7
	flat.Marginal = 0
	for name, c := range map[string]struct {
		node      energy.Power
		pods      int
		inflight  float64
		pod       float64
		objective energy.Objective
		sleep     bool
		want      float64
	}{
		"marginal":                  {node, 3, 0, 1, energy.Marginal, false, 1 / 20.},
		"half a core":               {node, 3, 0, .5, energy.Marginal, false, 1 / 10.},
		"in flight is no cost":      {node, 3, 2, 1, energy.Marginal, false, 1 / 20.},
		"in flight fills":           {node, 3, 4.65, 1, energy.Marginal, false, 1e-3 / 8.65},
		"two fifths of a core left": {node, 3, 4.59, 1, energy.Marginal, false, 1 / 20.},
		"full":                      {full, 9, 0, 1, energy.Marginal, false, 1e-3 / 8.7},
		"a small pod on a full one": {node, 3, 5.35, .1, energy.Marginal, false, 1e-3 / 9.35},
		"a small pod, just beyond":  {node, 3, 5.25, .1, energy.Marginal, false, 1 / 2.},
		"a large pod, half of it":   {node, 3, 3, 4, energy.Marginal, false, 1 / 80.},
		"a large pod, less":         {node, 3, 3.5, 4, energy.Marginal, false, 1e-3 / 7.5},
		"wakes":                     {empty, 0, 0, 1, energy.Marginal, true, 1 / 60.},
		"empty, nobody sleeps":      {empty, 0, 0, 1, energy.Marginal, false, 1 / 20.},
		"woken by what is coming":   {empty, 0, 1, 1, energy.Marginal, true, 1 / 20.},
		"awake":                     {node, 3, 0, 1, energy.Marginal, true, 1 / 20.},
		"nothing to add":            {flat, 3, 0, 1, energy.Marginal, false, 1000},
		"remaining":                 {node, 3, 0, 1, energy.Remaining, false, 80.001},
		"remaining less in flight":  {node, 3, 2, 1, energy.Remaining, false, 40.001},
		"nothing remains":           {node, 3, 20, 1, energy.Remaining, false, .001},
	} {
		t.Run(name, func(t *testing.T) {
			got := energy.Goodness(&c.node, c.pods, c.inflight, c.pod, c.objective, c.sleep)
			if math.Abs(got-c.want) > 1e-12*c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	for _, quality := range []energy.Quality{energy.None, 5, 200} {
		node.Quality = quality
		if g := energy.Goodness(&node, 3, 0, 1, energy.Marginal, false); !math.IsNaN(g) {
			t.Error(quality, g)
		}
	}
}

// TestPowerValidate names what is out of range.
func TestPowerValidate(t *testing.T) {
	good := energy.Power{Quality: energy.Shared, Watts: 1e6, SD: 1, Max: 2, Idle: 1, Marginal: 1, Busy: 4096, Cores: 4096, Joules: 1e15, Flags: 31}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*energy.Power){
		"Watts":    func(p *energy.Power) { p.Watts = 1.1e6 },
		"SD":       func(p *energy.Power) { p.SD = math.NaN() },
		"Max":      func(p *energy.Power) { p.Max = math.Inf(1) },
		"Idle":     func(p *energy.Power) { p.Idle = -1 },
		"Marginal": func(p *energy.Power) { p.Marginal = -1 },
		"Busy":     func(p *energy.Power) { p.Busy = 4097 },
		"Cores":    func(p *energy.Power) { p.Cores = -1 },
		"Joules":   func(p *energy.Power) { p.Joules = 1e16 },
	} {
		p := good
		change(&p)
		var refused *field.Error
		if err := p.Validate(); !errors.As(err, &refused) || refused.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNames checks the names that people see.
func TestNames(t *testing.T) {
	got := []string{
		energy.None.String(), energy.Modelled.String(), energy.Platform.String(), energy.Shared.String(), energy.Measured.String(), energy.Quality(5).String(),
		energy.Flags(0).String(), (energy.Partial | energy.Projected).String(), energy.Flags(1 << 5).String(),
		(energy.Extrapolated | energy.RatioSplit | energy.Gap).String(),
		energy.Marginal.String(), energy.Remaining.String(),
	}
	want := []string{
		"none", "modelled", "platform", "shared", "measured", "unknown",
		"", "partial,projected", "unknown", "extrapolated,ratio-split,gap",
		"Marginal", "Remaining",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestPowerAtBend of 4 cores, by hand: 40 W idle, 30 W for each of the first 2.8 busy cores and
// 10 W for those beyond.
func TestPowerAtBend(t *testing.T) {
	learnt := func(watts func(u float64) float64, knots int) *energy.Curve {
		k, err := energy.NewCurve(energy.CurveConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			for i := range knots {
				u := float64(i) / 10
				if err := k.Learn(u, watts(u)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return k
	}
	bent := func(u float64) float64 { return 40 + 120*min(u, .7) + 40*max(u-.7, 0) }
	got, known := learnt(bent, 11).PowerAt(.5, 4)
	want := energy.Power{Idle: 40, Max: 136, Marginal: 26, Busy: 2, Cores: 4}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if d := cmp.Diff(want, got, near); d != "" || !known {
		t.Error(known, d)
	}
	if got, known := learnt(bent, 9).PowerAt(.1, 4); got.Flags != energy.Extrapolated || !known {
		t.Errorf("full load was never seen: %+v, %v", got, known)
	}
	if got, known := learnt(func(float64) float64 { return 40 }, 11).PowerAt(.5, 4); known {
		t.Errorf("load takes nothing: %+v is known", got)
	}
}
