package kalman_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/kalman"
)

// TestKnownPodsAreTakenOut: an estimator that gets known pods separately learns the same as without
// them.
func TestKnownPodsAreTakenOut(t *testing.T) {
	c := kalman.Config{}
	with, err := kalman.NewPerChannel(c, c)
	if err != nil {
		t.Fatal(err)
	}
	without, err := kalman.NewPerChannel(c, c)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(10, 9))
	pods, known := 0., 0.
	for i := range 500 {
		if i%7 == 0 {
			pods, known = float64(rng.IntN(4)), float64(rng.IntN(3))
		}
		noise := .004 * rng.NormFloat64()
		z := []float64{.9 - .08*pods + noise, .95 - .05*pods + noise}
		plain := kalman.Observation{Headroom: z, Pods: pods, Churn: i%7 == 0, Transitioning: 1}
		if err := without.Step(plain); err != nil {
			t.Fatal(err)
		}
		takes := []float64{.0625 * known, .125 * known}
		observation := plain
		observation.Headroom = []float64{z[0] - takes[0], z[1] - takes[1]}
		observation.Pods, observation.Load, observation.Known = pods+known, []float64{pods, pods}, takes
		if err := with.Step(observation); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range without.EstimatesTo(nil) {
		got := with.EstimatesTo(nil)[i]
		if math.Abs(got.Cost-want.Cost) > .003 || math.Abs(got.Capacity()-want.Capacity()) > .01 || !got.Known {
			t.Errorf("channel %d: got %+v beside known pods, want %+v as without", i, got, want)
		}
	}
}

// TestFullChannelIsABound: a channel that known pods fill gives a bound, not a reading.
func TestFullChannelIsABound(t *testing.T) {
	p, err := kalman.NewPerChannel(kalman.Config{})
	if err != nil {
		t.Fatal(err)
	}
	step := func(z, n, known float64) kalman.Verdict {
		t.Helper()
		o := kalman.Observation{Headroom: []float64{z}, Pods: n + 1, Load: []float64{n}, Known: []float64{known}}
		if err := p.Step(o); err != nil {
			t.Fatal(err)
		}
		return p.VerdictsTo(nil)[0]
	}
	if got := step(0, 1, .5); got != kalman.Censored {
		t.Errorf("first reading of a full channel: got %v", got)
	}
	for range 20 {
		step(.4, 1, .5)
	}
	if got := step(.01, 1, .95); got != kalman.Censored {
		t.Errorf("channel full of known pods: got %v", got)
	}
}

func TestLoadIsChecked(t *testing.T) {
	p, err := kalman.NewPerChannel(kalman.Config{}, kalman.Config{})
	if err != nil {
		t.Fatal(err)
	}
	before := p.StatesTo(nil)
	z := []float64{.5, .5}
	for field, o := range map[string]kalman.Observation{
		"len(Load)":  {Headroom: z, Load: []float64{1}},
		"len(Known)": {Headroom: z, Known: []float64{1, 1, 1}},
		"Pods":       {Headroom: z, Load: []float64{1, -1}},
		"Known":      {Headroom: z, Known: []float64{.1, math.NaN()}},
	} {
		err := p.Step(o)
		if !names(err, field) {
			t.Errorf("%+v: got error %v, want one of %s", o, err, field)
		}
	}
	if d := cmp.Diff(before, p.StatesTo(nil)); d != "" {
		t.Errorf("changed by refused input:\n%s", d)
	}
}
