package svd_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

// precision of the exact twin, in bits: about 77 digits, of which squaring
// the condition 1e8 costs 16.
const precision = 256

func bigFloat(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }

// moments is the exact twin: the second moments of a stream, summed in
// multiple precision.
type moments [][]*big.Float

func newMoments(d int) moments {
	g := make(moments, d)
	for i := range g {
		g[i] = make([]*big.Float, d)
		for j := range g[i] {
			g[i][j] = bigFloat(0)
		}
	}
	return g
}

// update sets g to w·g + AAᵀ.
func (g moments) update(w float64, samples [][]float64) {
	for i := range g {
		for j := range g {
			s := bigFloat(0)
			for _, y := range samples {
				s.Add(s, new(big.Float).SetPrec(precision).Mul(bigFloat(y[i]), bigFloat(y[j])))
			}
			g[i][j].Mul(g[i][j], bigFloat(w))
			g[i][j].Add(g[i][j], s)
		}
	}
}

// sigma returns the roots of the eigenvalues of g/mass, descending, by the
// textbook cyclic Jacobi method; g is destroyed.
func (g moments) sigma(mass float64) []float64 {
	mul := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Mul(a, b) }
	add := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Add(a, b) }
	sub := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Sub(a, b) }
	quo := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Quo(a, b) }
	sqrt := func(a *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Sqrt(a) }
	one := bigFloat(1)
	for range 12 {
		for p := range g {
			for q := p + 1; q < len(g); q++ {
				if g[p][q].Sign() == 0 {
					continue
				}
				zeta := quo(sub(g[q][q], g[p][p]), mul(bigFloat(2), g[p][q]))
				abs := new(big.Float).Abs(zeta)
				t := quo(one, add(abs, sqrt(add(one, mul(zeta, zeta)))))
				if zeta.Sign() < 0 {
					t.Neg(t)
				}
				c := quo(one, sqrt(add(one, mul(t, t))))
				s := mul(c, t)
				for k := range g {
					a, b := g[k][p], g[k][q]
					g[k][p], g[k][q] = sub(mul(c, a), mul(s, b)), add(mul(s, a), mul(c, b))
				}
				for k := range g {
					a, b := g[p][k], g[q][k]
					g[p][k], g[q][k] = sub(mul(c, a), mul(s, b)), add(mul(s, a), mul(c, b))
				}
			}
		}
	}
	out := make([]float64, len(g))
	for i := range g {
		out[i], _ = sqrt(quo(g[i][i], bigFloat(mass))).Float64()
	}
	for i := range out {
		for j := i; j > 0 && out[j] > out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

// graded returns samples Q·diag(1 … 1/condition)·z in a fixed rotated basis.
func graded(rng *rand.Rand, d, n int, condition float64) [][]float64 {
	samples := block(rng, d, n)
	for _, y := range samples {
		for i := range y {
			y[i] = (y[i] - 0.5) * math.Pow(condition, -float64(i)/float64(d-1))
		}
		for i := range d {
			for j := range i {
				c, s := math.Cos(float64(1+i+j)), math.Sin(float64(1+i+j))
				y[i], y[j] = c*y[i]-s*y[j], s*y[i]+c*y[j]
			}
		}
	}
	return samples
}

// TestSmallSingularValues compares the smallest singular value with the exact
// twin at large condition numbers.
func TestSmallSingularValues(t *testing.T) {
	dims := []int{2, 4, 8, 12, 16, 24}
	if testing.Short() {
		dims = dims[:4]
	}
	for _, c := range []struct{ condition, relative float64 }{{1e2, 1e-13}, {1e6, 1e-10}, {1e8, 1e-8}} {
		for _, d := range dims {
			rng := rand.New(rand.NewPCG(uint64(d), 8))
			var m svd.Model
			exact := newMoments(d)
			mass := 0.0
			for range 30 {
				samples := graded(rng, d, 10, c.condition)
				exact.update(0.5, samples)
				mass = 0.5*mass + 1 // exact
				m = mustUpdate(t, m, samples, svd.Options{Rank: d})
			}
			var worst float64
			for i, want := range exact.sigma(mass) {
				worst = max(worst, math.Abs(m.Sigma(i)-want)/want)
			}
			t.Logf("condition %.0e, d=%d: relative error of any σ ≤ %.1e", c.condition, d, worst)
			if worst > c.relative {
				t.Errorf("condition %.0e, d=%d: relative error %g, want ≤ %g", c.condition, d, worst, c.relative)
			}
		}
	}
}

// TestOrthonormalityDoesNotDrift runs eight hours of blocks at 10 Hz and more.
func TestOrthonormalityDoesNotDrift(t *testing.T) {
	updates := 300_000
	if testing.Short() {
		updates = 30_000
	}
	rng := rand.New(rand.NewPCG(1, 9))
	data := make([][][]float64, 97)
	for i := range data {
		data[i] = block(rng, 4, 10)
	}
	var m svd.Model
	var ws svd.Workspace
	for k := range updates {
		if err := svd.UpdateTo(&m, m, data[k%len(data)], svd.Options{}, &ws); err != nil {
			t.Fatal(err)
		}
	}
	o := orthonormality(m.State())
	t.Logf("|UᵀU − I| = %.1e after %d updates", o, updates)
	if o > 1e-13 {
		t.Errorf("|UᵀU − I| = %g after %d updates, want ≤ 1e-13", o, updates)
	}
}
