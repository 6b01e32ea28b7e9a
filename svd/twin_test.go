package svd_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/spazio-scheduler/spazio/svd"
)

// stream is a sequence of blocks and its naive twin: all samples seen so far,
// as columns, each with its weight.
type stream struct {
	dim     int
	columns [][]float64
	weights []float64
}

// append decays the weights of the past by w and adds the samples at weight 1.
func (s *stream) append(samples [][]float64, w float64) {
	for i := range s.weights {
		s.weights[i] *= w
	}
	for _, y := range samples {
		s.columns, s.weights = append(s.columns, y), append(s.weights, 1)
	}
}

// batch returns the singular values (d of them) and left vectors of the
// weighted concatenation, of which mass blocks are one, by gonum's batch
// decomposition.
func (s *stream) batch(t testing.TB, mass float64) ([]float64, *mat.Dense) {
	a := mat.NewDense(s.dim, max(len(s.columns), s.dim), nil)
	for j, c := range s.columns {
		for i, v := range c {
			a.Set(i, j, math.Sqrt(s.weights[j]/mass)*v)
		}
	}
	var dec mat.SVD
	if !dec.Factorize(a, mat.SVDThinU) {
		t.Fatal("the batch decomposition did not converge")
	}
	var u mat.Dense
	dec.UTo(&u)
	return dec.Values(nil), &u
}

func block(rng *rand.Rand, dim, n int) [][]float64 {
	samples := make([][]float64, n)
	for j := range samples {
		samples[j] = make([]float64, dim)
		for i := range samples[j] {
			samples[j][i] = rng.Float64()
		}
	}
	return samples
}

// sine returns the sine of the angle between unit vectors a and b.
func sine(a, b []float64) float64 {
	var plus, minus float64
	for i := range a {
		plus += (a[i] + b[i]) * (a[i] + b[i])
		minus += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(min(plus, minus))
}

func column(s svd.State, i int) []float64 { return s.U[i*s.Dim : (i+1)*s.Dim] }

// orthonormality returns the largest element of |UᵀU − I|.
func orthonormality(s svd.State) float64 {
	var worst float64
	for i := range s.Sigma {
		for j := range s.Sigma {
			var g float64
			for k, v := range column(s, i) {
				g += v * column(s, j)[k]
			}
			if i == j {
				g--
			}
			worst = max(worst, math.Abs(g))
		}
	}
	return worst
}

// gap returns the least distance of σ_i from its neighbours, over σ₁.
func gap(sigma []float64, i int) float64 {
	g := math.Inf(1)
	for j := range sigma {
		if j != i {
			g = min(g, math.Abs(sigma[i]-sigma[j]))
		}
	}
	return g / sigma[0]
}

// TestUpdateMatchesBatch compares a stream of updates with the batch
// decomposition of the weighted concatenation.
func TestUpdateMatchesBatch(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 4, 7, 8, 12, 15, 16, 20, 32, 64} {
		rng := rand.New(rand.NewPCG(uint64(dim), 1))
		opt := svd.Options{Alpha: 3, Beta: 1, Rank: dim}
		twin := &stream{dim: dim}
		var m svd.Model
		var ws svd.Workspace
		var mass, worstSigma, worstSine float64
		for k := range 40 {
			n := 10
			if k%5 == 3 {
				n = 1 + rng.IntN(9)
			}
			samples := block(rng, dim, n)
			twin.append(samples, 0.75)
			mass = 0.75*mass + float64(n)/10
			if err := svd.UpdateTo(&m, m, samples, opt, &ws); err != nil {
				t.Fatal(err)
			}
			sigma, u := twin.batch(t, mass)
			got := m.State()
			for i := range sigma {
				worstSigma = max(worstSigma, math.Abs(got.Sigma[i]-sigma[i])/sigma[0])
				if g := gap(sigma, i); dim > 1 && g > 1e-6 {
					worstSine = max(worstSine, g*sine(column(got, i), mat.Col(nil, i, u)))
				}
			}
			if o := orthonormality(got); o > 1e-13 {
				t.Errorf("d=%d, block %d: |UᵀU − I| = %g", dim, k, o)
			}
			if err := got.Validate(); err != nil {
				t.Errorf("d=%d, block %d: %v", dim, k, err)
			}
		}
		t.Logf("d=%d: |Δσ|/σ₁ ≤ %.1e, gap·sin∠ ≤ %.1e", dim, worstSigma, worstSine)
		if worstSigma > 1e-12 || worstSine > 1e-12 {
			t.Errorf("d=%d: |Δσ|/σ₁ = %g, gap·sin∠ = %g, want ≤ 1e-12", dim, worstSigma, worstSine)
		}
	}
}
