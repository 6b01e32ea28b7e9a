package svd_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

// TestMomentsOfLowRank: a load along one line, or a few, leaves directions
// without energy, whose computed ones are all rounding.
func TestMomentsOfLowRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 20000 {
		dim := 2 + rng.IntN(5)
		rank := 1 + rng.IntN(dim)
		g := make([]float64, dim*dim)
		for range rank {
			v := make([]float64, dim)
			for i := range v {
				v[i] = rng.Float64() * math.Exp2(-20*rng.Float64())
			}
			for i := range dim {
				for j := range dim {
					g[i*dim+j] += v[i] * v[j]
				}
			}
		}
		m, err := svd.FromMoments(dim, 10, 1, g)
		if err != nil {
			t.Fatalf("rank %d of %d: %v", rank, dim, err)
		}
		largest := m.Sigma(0) * m.Sigma(0)
		for i, v := range m.MomentsTo(nil) {
			if !(math.Abs(v-g[i]) <= 1e-9*largest) {
				t.Fatalf("element %d is %v, want %v", i, v, g[i])
			}
		}
	}
}
