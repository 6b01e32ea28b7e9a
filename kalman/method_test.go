package kalman_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// TestMethodsKeepTheGates runs what every method must do alike.
func TestMethodsKeepTheGates(t *testing.T) {
	for _, m := range kalman.Methods() {
		t.Run(m.String(), func(t *testing.T) {
			c := kalman.Config{Method: m, Prior: .1}
			rng := rand.New(rand.NewPCG(12, 13))
			s := kalman.State{}
			trace(rng, 600, func(int) float64 { return .1 }, func(_ int, z, n float64) {
				s, _, _ = kalman.Step(s, z, n, c)
			})
			e := s.Estimate(c)
			if !e.Known || math.Abs(e.Cost-.1) > .04 {
				t.Errorf("after 600 steps at c = .1: %+v", e)
			}
			// 12 pods take more than all: a full channel says nothing new, and one
			// that has room at 9 that there is less of it.
			next, v, _ := kalman.Step(s, .001, 12, c)
			if next.Contended = s.Contended; v != kalman.Censored && m != kalman.Delta || v == kalman.Censored && next != s {
				t.Errorf("full beyond the capacity: %v, %+v after %+v", v, next, s)
			}
			still := func(steps int) {
				for range steps {
					s, _, _ = kalman.Step(s, .7+.02*rng.NormFloat64(), s.LastPods, c)
				}
			}
			still(100) // the change to .7 itself may leave a doubt
			before := s.CostVar
			still(10000)
			if s.CostVar > before*1.01+1e-12 {
				t.Errorf("variance of the cost wound up from %v to %v", before, s.CostVar)
			}
		})
	}
}
