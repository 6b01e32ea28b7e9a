package kalman_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// mixed lets pods come and go, half of which take .12 of a channel and half nothing, and returns the
// estimated mean cost after some steps.
func mixed(t *testing.T, rng *rand.Rand, c kalman.Config) kalman.Estimate {
	t.Helper()
	var s kalman.State
	var pods []float64
	for range 40 {
		switch {
		case len(pods) > 0 && rng.IntN(2) == 0:
			i := rng.IntN(len(pods))
			pods = append(pods[:i], pods[i+1:]...)
		case len(pods) < 7:
			pods = append(pods, .12*float64(rng.IntN(2)))
		}
		used := .05
		for _, p := range pods {
			used += p
		}
		for range 3 { // the same pods for some seconds
			var err error
			if s, _, err = kalman.Step(s, 1-used, float64(len(pods)), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s.Estimate(c)
}

// TestSpread: the standard deviation of a cost learned from different pods equals that of its error;
// the mean pod takes .06.
func TestSpread(t *testing.T) {
	tests := []struct {
		name      string
		spread    float64
		low, high float64 // of the mean squared error in variances
	}{
		{"pods assumed alike", 0, 40, math.Inf(1)},
		{"pods known to differ", 1, .2, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 1))
			sum, known := 0., 0
			for range 300 {
				e := mixed(t, rng, kalman.Config{Prior: .125, Spread: tt.spread})
				if e.Known {
					known++
					off := (e.Cost - .06) / e.CostSD
					sum += off * off
				}
			}
			if known < 150 { // the rest are at the floor, or too close to it
				t.Fatalf("got a known cost in %d of 300 runs", known)
			}
			if mean := sum / float64(known); !(mean >= tt.low && mean <= tt.high) {
				t.Errorf("got mean squared errors of %.2f variances, want %g to %g", mean, tt.low, tt.high)
			}
		})
	}
}

// TestSpreadIsChecked: a spread is at least 0 and at most 10.
func TestSpreadIsChecked(t *testing.T) {
	for _, spread := range []float64{-1, 11, math.NaN()} {
		if err := (kalman.Config{Spread: spread}).Validate(); !names(err, "Spread") {
			t.Errorf("spread %v: got error %v", spread, err)
		}
	}
}

// TestSpreadIsOfTheCost: Δn different pods add κ²c²·|Δn| to the variance of the innovation, for the
// present cost, not the first guess.
func TestSpreadIsOfTheCost(t *testing.T) {
	state := kalman.State{Level: .7, LevelVar: 1e-4, Cost: .08, CostVar: 1e-4, MeanPods: 2, DiffVar: 8e-4, LastSignal: .7, LastPods: 2, Started: true}
	variance := func(spread, n float64) float64 {
		p, err := kalman.NewPerChannel(kalman.Config{Prior: .3, Spread: spread})
		if err == nil {
			err = p.SetStates([]kalman.State{state})
		}
		if err == nil {
			err = p.Step(kalman.Observation{Headroom: []float64{.7 - .08*(n-2)}, Pods: n})
		}
		if err != nil {
			t.Fatal(err)
		}
		return p.InnovationsTo(nil)[0].Variance
	}
	for _, spread := range []float64{.25, .5, 1} {
		for _, n := range []float64{0, 1, 2, 3, 5} {
			got := variance(spread, n) - variance(0, n)
			if want := spread * spread * .08 * .08 * math.Abs(n-2); math.Abs(got-want) > 1e-15 {
				t.Errorf("κ = %g, %g pods: got a variance increase of %g, want %g", spread, n, got, want)
			}
		}
	}
}
