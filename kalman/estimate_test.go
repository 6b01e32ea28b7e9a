package kalman_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// TestDeviationsAreCalibrated follows nodes whose law and noise are the filter's own: capacity over
// cost must almost always lie within two of the standard deviations that follow from those of level and
// cost, and these must not be far too wide.
func TestDeviationsAreCalibrated(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	inside, steps, squares := 0., 0., 0.
	for range 100 {
		s := kalman.State{}
		trace(rng, 300, func(int) float64 { return .1 }, func(i int, z, n float64) {
			s, _, _ = kalman.Step(s, z, n, kalman.Config{Prior: .1, CostDrift: 1e-6, LevelDrift: 1e-6})
			e := s.Estimate(kalman.Config{Prior: .1})
			if i < 100 || !e.Known {
				return
			}
			// To first order: ∂(μ/c)/∂μ = 1/c, ∂(μ/c)/∂c = −μ/c².
			sd := math.Hypot(e.LevelSD/e.Cost, e.Level*e.CostSD/e.Cost/e.Cost)
			off := (e.Capacity()/e.Cost - 9.5) / sd
			steps++
			squares += off * off
			if math.Abs(off) < 2 {
				inside++
			}
		})
	}
	if share := inside / steps; share < .9 || squares/steps < .3 || squares/steps > 1.6 {
		t.Errorf("got %.1f %% within two standard deviations, mean square %.2f of them", 100*share, squares/steps)
	}
}
