package kalman_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// TestAvailSD compares the first-order standard deviation of avail with that of
// 200,000 draws of level and cost.
func TestAvailSD(t *testing.T) {
	for _, tt := range []struct {
		name                         string
		level, levelSD, cost, costSD float64
		tolerance                    float64
	}{
		{"level alone", .5, .02, .1, 0, .01},
		{"cost alone", .5, 0, .1, .005, .02},
		{"both", .5, .02, .1, .01, .05},
		{"nearly full", .05, .02, .1, .01, .03},
		{"rough cost", .6, .01, .12, .024, .22},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(31, 32))
			const draws = 200000
			var sum, squares float64
			for range draws {
				a := (tt.level + tt.levelSD*rng.NormFloat64()) / (tt.cost + tt.costSD*rng.NormFloat64())
				sum += a
				squares += a * a
			}
			want := math.Sqrt(squares/draws - sum*sum/draws/draws)
			got := kalman.AvailSD(tt.level, tt.levelSD, tt.cost, tt.costSD)
			if math.Abs(got-want) > tt.tolerance*want {
				t.Errorf("AvailSD = %.4f pods, Monte Carlo %.4f (%+.1f %%)", got, want, 100*(got/want-1))
			}
		})
	}
	for _, bad := range [][4]float64{{.5, .1, 0, .1}, {.5, .1, -1, .1}, {math.NaN(), .1, .1, .1}, {.5, -1, .1, .1}, {.5, .1, .1, math.NaN()}, {0, .1, 1e-300, math.Inf(1)}} {
		if got := kalman.AvailSD(bad[0], bad[1], bad[2], bad[3]); !math.IsInf(got, 1) {
			t.Errorf("AvailSD(%v) = %v, want +Inf", bad, got)
		}
	}
}

// TestAvailSDIsCalibrated follows nodes whose law and noise are the filter's
// own: avail must lie within two of its standard deviations nearly always, and
// the deviations must not be far too wide.
func TestAvailSDIsCalibrated(t *testing.T) {
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
			off := (e.Capacity()/e.Cost - 9.5) / e.AvailSD()
			steps++
			squares += off * off
			if math.Abs(off) < 2 {
				inside++
			}
		})
	}
	if share := inside / steps; share < .9 || squares/steps < .3 || squares/steps > 1.6 {
		t.Errorf("%.1f %% within two standard deviations, mean square %.2f of them", 100*share, squares/steps)
	}
}
