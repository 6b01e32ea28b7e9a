package thesis_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// No level leaves the hull of the samples.
func TestBaselineHull(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 12))
	for _, c := range contenders() {
		xs := signal(rng, 500)
		low, high := math.Inf(1), math.Inf(-1)
		for i, m := range c.smooth(t, xs) {
			low, high = math.Min(low, xs[i]), math.Max(high, xs[i])
			if m < low || m > high {
				t.Fatalf("%s: level %g outside [%g, %g]", c.name, m, low, high)
			}
		}
	}
}

// FuzzBaselines: the levels of finite samples are finite, and those of an average never leave their hull.
func FuzzBaselines(f *testing.F) {
	f.Add(.5, .1, .9, .3, uint8(5), 1.)
	f.Add(1e300, -2e300, -1e300, 1., uint8(7), 1e6)
	f.Add(1., 0., 1e-17, 1e-9, uint8(0), 1e-6)
	f.Fuzz(func(t *testing.T, a, b, c, gain float64, window uint8, beta float64) {
		xs := []float64{a, b, c, b, a}
		for _, x := range xs {
			if !(math.Abs(x) <= filter.MaxMagnitude) {
				return
			}
		}
		if !(gain > 0 && gain <= 1) || !(beta >= 1e-6 && beta <= 1e6) {
			return
		}
		for name, f := range map[string]thesis.Filter{
			"EMA": thesis.EMA(gain), "median": thesis.MedianEMA(2*int(window%8)+1, gain), "One Euro": thesis.OneEuro(10, beta, beta, 1),
		} {
			low, high := math.Inf(1), math.Inf(-1)
			for _, x := range xs {
				low, high = min(low, x), max(high, x)
				if level := f(x); !(level >= low && level <= high) {
					t.Fatalf("%s: level %g of %v", name, level, xs)
				}
			}
		}
	})
}

// signal is noise around a level that jumps now and then.
func signal(rng *rand.Rand, n int) []float64 {
	level, noise := rng.Float64(), 0.1*rng.Float64()
	out := make([]float64, n)
	for i := range out {
		if rng.IntN(12) == 0 {
			level = rng.Float64()
		}
		out[i] = level + noise*rng.NormFloat64()
	}
	return out
}

func TestFiltersAllocate(t *testing.T) {
	for _, c := range contenders() {
		step := c.new()
		if n := testing.AllocsPerRun(100, func() { _, _ = step(.1) }); n != 0 {
			t.Errorf("%s makes %g allocations", c.name, n)
		}
	}
}

// steady is a noisy level with a spike now and then, as a node's telemetry
// is.
func steady(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 8))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 0.4 + 0.02*rng.NormFloat64()
		if rng.IntN(40) == 0 {
			xs[i] += 0.3
		}
	}
	return xs
}

// BenchmarkBaselines measures a step of each contender on one channel.
func BenchmarkBaselines(b *testing.B) {
	xs := steady(4096)
	for _, c := range contenders() {
		switch c.name {
		case "dynamic", "EMA .3", "median 9, EMA .8", "One Euro":
			b.Run(c.name, func(b *testing.B) {
				step := c.new()
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if _, err := step(xs[i%4096]); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}
