package svd_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

func energy(m svd.Model, i int) float64 { return m.Sigma(i) * m.Sigma(i) }

func trace(m svd.Model) float64 {
	var s float64
	for i := range m.Rank() {
		s += energy(m, i)
	}
	return s
}

// TestBound39IsFalse holds the counterexample to the thesis's bound 3.9: two
// unit loads at equal weights, of which neither has an energy below 1.
func TestBound39IsFalse(t *testing.T) {
	opt := svd.Options{Block: 1}
	m := mustMerge(t, mustUpdate(t, svd.Model{}, [][]float64{{1, 0}}, opt), mustUpdate(t, svd.Model{}, [][]float64{{0, 1}}, opt))
	if !near(energy(m, 0), 0.5, 1e-15) {
		t.Errorf("λ₁ = %g, want ½", energy(m, 0))
	}
}

// TestWeylBounds checks what holds instead of it, for random weights.
func TestWeylBounds(t *testing.T) {
	for _, d := range []int{2, 4, 7, 16, 18} {
		rng := rand.New(rand.NewPCG(uint64(d), 31))
		for range 50 {
			opt := svd.Options{Rank: d, Alpha: 0.1 + rng.Float64(), Beta: 0.1 + rng.Float64()}
			old, fresh := block(rng, d, 10), block(rng, d, 10)
			a := mustUpdate(t, svd.Model{}, old, opt)
			a2 := mustUpdate(t, svd.Model{}, fresh, opt)
			b := mustUpdate(t, a, fresh, opt)
			// Of two blocks the past has the mass w beside 1.
			alpha, beta := opt.Alpha/(opt.Alpha+opt.Beta), 1.0
			total := alpha + beta
			slack := 1e-12 * energy(b, 0)
			for i := range d {
				if low := max(alpha*energy(a, i), beta*energy(a2, i)) / total; energy(b, i) < low-slack {
					t.Errorf("d=%d: λ_%d = %g < %g", d, i+1, energy(b, i), low)
				}
				for j := range d - i {
					high := (alpha*energy(a, i) + beta*energy(a2, j)) / total
					if energy(b, i+j) > high+slack {
						t.Errorf("d=%d: λ_%d = %g > %g", d, i+j+1, energy(b, i+j), high)
					}
				}
			}
		}
	}
}

// The trace mixes exactly, and σ₁ ≤ √(b·d) for samples in [0,1].
func TestTraceRecursion(t *testing.T) {
	for _, d := range []int{1, 2, 4, 16} {
		rng := rand.New(rand.NewPCG(uint64(d), 32))
		var m svd.Model
		var squares, mass float64
		for k := range 200 {
			n := 1 + rng.IntN(10)
			samples := block(rng, d, n)
			squares, mass = 0.8*squares, 0.8*mass+float64(n)/10
			for _, y := range samples {
				for _, v := range y {
					squares += v * v
				}
			}
			want := squares / mass
			m = mustUpdate(t, m, samples, svd.Options{Alpha: 4, Unit: true})
			if !near(trace(m), want, 1e-12*want) {
				t.Fatalf("d=%d, block %d: trace %g, want %g", d, k, trace(m), want)
			}
			if m.Sigma(0) > math.Sqrt(float64(10*d)) {
				t.Fatalf("d=%d, block %d: σ₁ = %g > √(b·d)", d, k, m.Sigma(0))
			}
			if limit := 1 / (1 - 0.8); m.Mass() > limit+1e-12 {
				t.Fatalf("d=%d, block %d: mass %g > %g", d, k, m.Mass(), limit)
			}
		}
	}
}

// Permuting the channels permutes the moments, scaling the samples scales σ
// and leaves the directions.
func TestPermutationAndScaling(t *testing.T) {
	for _, d := range []int{2, 4, 9, 17} {
		rng := rand.New(rand.NewPCG(uint64(d), 33))
		perm := rng.Perm(d)
		const factor = 0.37
		var m, permuted, scaled svd.Model
		opt := svd.Options{Rank: d}
		for range 20 {
			samples := block(rng, d, 10)
			p, s := block(rng, d, 10), block(rng, d, 10)
			for j, y := range samples {
				for i, v := range y {
					p[j][perm[i]] = v
					s[j][i] = factor * v
				}
			}
			m = mustUpdate(t, m, samples, opt)
			permuted = mustUpdate(t, permuted, p, opt)
			scaled = mustUpdate(t, scaled, s, opt)
		}
		u, up, us := m.DirectionTo(nil), permuted.DirectionTo(nil), scaled.DirectionTo(nil)
		for i := range d {
			if !near(m.Sigma(i), permuted.Sigma(i), 1e-13*m.Sigma(0)) {
				t.Errorf("d=%d: σ_%d = %g, permuted %g", d, i+1, m.Sigma(i), permuted.Sigma(i))
			}
			if !near(factor*m.Sigma(i), scaled.Sigma(i), 1e-13*m.Sigma(0)) {
				t.Errorf("d=%d: σ_%d = %g, scaled %g", d, i+1, m.Sigma(i), scaled.Sigma(i))
			}
			if !near(u[i], up[perm[i]], 1e-12) || !near(u[i], us[i], 1e-12) {
				t.Errorf("d=%d: u₁ at %d is %g, permuted %g, scaled %g", d, i, u[i], up[perm[i]], us[i])
			}
		}
	}
}

// sparse returns samples in which each channel is idle most of the time, so
// that channels may never be active together.
func sparse(rng *rand.Rand, d, n int) [][]float64 {
	samples := make([][]float64, n)
	for j := range samples {
		samples[j] = make([]float64, d)
		samples[j][rng.IntN(d)] = rng.Float64()
		if rng.IntN(3) == 0 {
			samples[j][rng.IntN(d)] = rng.Float64()
		}
	}
	return samples
}

// For samples ≥ 0 direction and demand are ≥ 0, to the last bit, at rank d and
// at rank 1: also while a channel goes idle.
func TestPerronSign(t *testing.T) {
	models := 600
	if testing.Short() {
		models = 60
	}
	for _, d := range []int{2, 4, 8, 12, 16, 24} {
		rng := rand.New(rand.NewPCG(uint64(d), 34))
		for _, rank := range []int{1, d} {
			for range models / d {
				var m svd.Model
				idle := rng.IntN(d)
				for k := range 40 {
					samples := sparse(rng, d, 1+rng.IntN(10))
					if k >= 8 {
						samples = block(rng, d, 10)
						for _, y := range samples {
							y[idle] = 0
						}
					}
					m = mustUpdate(t, m, samples, svd.Options{Rank: rank})
					for i, v := range m.DirectionTo(nil) {
						if v < 0 || m.DemandTo(nil)[i] < 0 {
							t.Fatalf("d=%d, r=%d, block %d: u₁ at %d is %g", d, rank, k, i, v)
						}
					}
				}
			}
		}
	}
}

// On ties the direction is P·1 normalised, whatever the basis.
func TestDirectionOnTies(t *testing.T) {
	h, third := math.Sqrt(0.5), math.Sqrt(1.0/3)
	for name, c := range map[string]struct {
		samples [][]float64
		want    []float64
	}{
		"two axes":       {[][]float64{{1, 0}, {0, 1}}, []float64{h, h}},
		"three axes":     {[][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, []float64{third, third, third}},
		"two of three":   {[][]float64{{1, 0, 0}, {0, 0, 1}}, []float64{h, 0, h}},
		"a pair, a unit": {[][]float64{{0.6, 0.8, 0}, {0, 0, 1}}, []float64{1.4 * 0.6, 1.4 * 0.8, 1}},
		"zeros":          {[][]float64{{0, 0}}, []float64{h, h}},
		"no tie":         {[][]float64{{1, 0}, {0, 0.5}}, []float64{1, 0}},
		"opposed":        {[][]float64{{1, -1}}, []float64{h, -h}},
		"opposed too":    {[][]float64{{-1, 1}}, []float64{h, -h}},
	} {
		m := mustUpdate(t, svd.Model{}, c.samples, svd.Options{})
		got := m.DirectionTo(nil)
		var norm float64
		for _, v := range c.want {
			norm += v * v
		}
		for i, v := range c.want {
			if !near(got[i], v/math.Sqrt(norm), 1e-15) {
				t.Errorf("%s: %v, want %v normalised", name, got, c.want)
				break
			}
		}
	}
}

// Where P·1 vanishes, as samples of mixed sign allow, the direction is one of
// the tied vectors.
func TestDirectionOfVanishingProjection(t *testing.T) {
	h, s := math.Sqrt(0.5), math.Sqrt(1.0/6)
	for _, samples := range [][][]float64{
		{{h, -h, 0}, {s, s, -2 * s}},
		{{h, -h, 0, 0}, {0, 0, h, -h}},
	} {
		var norm, total float64
		for _, v := range mustUpdate(t, svd.Model{}, samples, svd.Options{}).DirectionTo(nil) {
			norm += v * v
			total += v
		}
		if !near(norm, 1, 1e-15) || !near(total, 0, 1e-15) {
			t.Errorf("of %v: norm² %g, sum %g", samples, norm, total)
		}
	}
}

// The demand of a stream of equal samples is the sample.
func TestDemand(t *testing.T) {
	y := []float64{0.1, 0.5, 0.2}
	m := mustUpdate(t, svd.Model{}, [][]float64{y, y, y}, svd.Options{})
	for i, v := range m.DemandTo(nil) {
		if !near(v, y[i], 1e-15) {
			t.Errorf("demand at %d is %g, want %g", i, v, y[i])
		}
	}
	if d := (svd.Model{}).DemandTo(make([]float64, 3)); len(d) != 0 {
		t.Errorf("the empty model demands %v", d)
	}
	dst := make([]float64, 5)
	if got := m.DemandTo(dst); len(got) != 3 || &got[0] != &dst[0] {
		t.Error("DemandTo does not use dst")
	}
}

// Accessors of a model that has seen nothing, and out of range.
func TestAccessors(t *testing.T) {
	var zero svd.Model
	if zero.Dim() != 0 || zero.Rank() != 0 || zero.Block() != 0 || zero.Mass() != 0 || zero.Sigma(0) != 0 ||
		len(zero.MomentsTo(nil)) != 0 || len(zero.DirectionTo(nil)) != 0 {
		t.Error("the zero Model is not empty")
	}
	m := mustUpdate(t, zero, [][]float64{{1, 0}}, svd.Options{Block: 7})
	if m.Dim() != 2 || m.Rank() != 2 || m.Block() != 7 || m.Sigma(-1) != 0 || m.Sigma(2) != 0 {
		t.Errorf("d=%d r=%d b=%d", m.Dim(), m.Rank(), m.Block())
	}
	clone := m.Clone()
	if !clone.Equal(m) || clone.Equal(zero) {
		t.Error("Equal does not compare")
	}
}

// Singular values that differ by a billionth part and less are a tie, others
// are not.
func TestTieTolerance(t *testing.T) {
	h := math.Sqrt(0.5)
	for _, c := range []struct {
		gap  float64
		want []float64
	}{{0, []float64{h, h}}, {1e-11, []float64{h, h}}, {1e-7, []float64{1, 0}}, {1e-3, []float64{1, 0}}} {
		m := mustUpdate(t, svd.Model{}, [][]float64{{1, 0}, {0, 1 - c.gap}}, svd.Options{Block: 2})
		got := m.DirectionTo(nil)
		for i, want := range c.want {
			if !near(got[i], want, 1e-6) {
				t.Errorf("a gap of %g: direction %v, want %v", c.gap, got, c.want)
				break
			}
		}
	}
}
