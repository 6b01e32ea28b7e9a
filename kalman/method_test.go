package kalman_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// regime is a synthetic node: capacity and cost over time, and how pods move.
type regime struct {
	name           string
	capacity, cost func(i int) float64
	move           func(rng *rand.Rand, i int, n float64) float64
	noise          float64
}

const regimeSteps = 600

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

// wander adds or takes a pod now and then.
func wander(p float64) func(*rand.Rand, int, float64) float64 {
	return func(rng *rand.Rand, _ int, n float64) float64 {
		if rng.Float64() < p {
			n += float64(2*rng.IntN(2) - 1)
		}
		return math.Min(math.Max(n, 0), 8)
	}
}

var regimes = []regime{
	{"cost rises", constant(.95), func(i int) float64 { return .06 + .04*float64(i)/regimeSteps }, wander(.2), .02},
	{"bursts", constant(.95), constant(.08), func(rng *rand.Rand, i int, n float64) float64 {
		if i%20 == 0 {
			return float64(rng.IntN(9))
		}
		return n
	}, .03},
	{"outside load comes and goes", func(i int) float64 { return .95 - .2*float64(i/100%2) }, constant(.07), wander(.05), .02},
	{"long stand-still", func(i int) float64 {
		if i > 300 {
			return .75
		}
		return .95
	}, constant(.07), func(rng *rand.Rand, i int, n float64) float64 {
		if i > 200 && i < 550 {
			return n
		}
		return wander(.2)(rng, i, n)
	}, .02},
}

// availError is the mean absolute error, in pods, of C/c − n against the truth
// over one run, the first 50 steps left out.
func (r regime) availError(rng *rand.Rand, c kalman.Config) float64 {
	s := kalman.State{}
	n, sum := 3., 0.
	for i := range regimeSteps {
		n = r.move(rng, i, n)
		z := r.capacity(i) - r.cost(i)*n + r.noise*rng.NormFloat64()
		s, _, _ = kalman.Step(s, math.Min(math.Max(z, 0), 1), n, c)
		if i < 50 {
			continue
		}
		e := s.Estimate(c)
		sum += math.Abs(e.Capacity()/e.Cost - r.capacity(i)/r.cost(i))
	}
	return sum / (regimeSteps - 50)
}

// meanErrors averages availError over runs, by regime.
func meanErrors(m kalman.Method, runs int) []float64 {
	errs := make([]float64, len(regimes))
	for i, r := range regimes {
		rng := rand.New(rand.NewPCG(11, uint64(i)))
		for range runs {
			errs[i] += r.availError(rng, kalman.Config{Method: m, Prior: .1}) / float64(runs)
		}
	}
	return errs
}

func mean(v []float64) float64 {
	sum := 0.
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// TestCentredBeatsThesis holds what the package doc claims: centring the dual
// filter of the thesis, and keeping its level, makes it better than the thesis's
// dual and difference filters on every regime.
func TestCentredBeatsThesis(t *testing.T) {
	centred := meanErrors(kalman.Centred, 50)
	for _, m := range kalman.Methods() {
		errs := meanErrors(m, 50)
		t.Logf("%-10s mean %.3f pods, by regime %.3f", m, mean(errs), errs)
		if m != kalman.Naive && m != kalman.Delta {
			continue
		}
		for i, r := range regimes {
			if errs[i] < centred[i] {
				t.Errorf("%s: %s has a mean error of %.3f pods, centred %.3f", r.name, m, errs[i], centred[i])
			}
		}
	}
}

// BenchmarkMethods reports the mean absolute error of avail, in pods, of every
// method on every regime.
func BenchmarkMethods(b *testing.B) {
	for _, m := range kalman.Methods() {
		b.Run(m.String(), func(b *testing.B) {
			var errs []float64
			for b.Loop() {
				errs = meanErrors(m, 20)
			}
			for i, r := range regimes {
				b.ReportMetric(errs[i], fmt.Sprintf("pods/%s", spaceless(r.name)))
			}
			b.ReportMetric(mean(errs), "pods/mean")
		})
	}
}

func spaceless(s string) string {
	out := []rune(s)
	for i, r := range out {
		if r == ' ' {
			out[i] = '_'
		}
	}
	return string(out)
}

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
			if next, v, _ := kalman.Step(s, .001, 9, c); v != kalman.Censored || next != s {
				t.Errorf("saturated measurement: %v", v)
			}
			before := s.CostVar
			for range 10000 {
				s, _, _ = kalman.Step(s, .7+.02*rng.NormFloat64(), s.LastPods, c)
			}
			if s.CostVar > before*1.01+1e-12 {
				t.Errorf("variance of the cost wound up from %v to %v", before, s.CostVar)
			}
		})
	}
}
