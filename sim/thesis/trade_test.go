package thesis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// contender is a filter of one channel under comparison. new returns a fresh one,
// as a function that smooths sample after sample.
type contender struct {
	name string
	new  func() func(x float64) (float64, error)
}

func plain(name string, begin func() thesis.Filter) contender {
	return contender{name, func() func(float64) (float64, error) {
		f := begin()
		return func(x float64) (float64, error) { return f(x), nil }
	}}
}

func dynamic(name string, c filter.Config) contender {
	return contender{name, func() func(float64) (float64, error) {
		f, err := filter.NewDynamic(c)
		if err != nil {
			panic(err)
		}
		var s filter.State
		return func(x float64) (float64, error) {
			var err error
			s, err = f.Step(s, x)
			return f.Level(s), err
		}
	}}
}

// contenders are the default filter, what it would be with one constant
// changed, and the baselines, each by its defaults and by the constants that
// bring it nearest to the default filter's leak.
func contenders() []contender {
	return []contender{
		dynamic("dynamic", filter.Config{}),
		dynamic("N=4", filter.Config{N: 4}),
		dynamic("hold=.02", filter.Config{Hold: 0.02}),
		dynamic("hold=.1", filter.Config{Hold: 0.1}),
		dynamic("delta=.05", filter.Config{Delta: 0.05}),
		dynamic("kappa=2.5", filter.Config{Kappa: 2.5}),
		dynamic("kappa=4", filter.Config{Kappa: 4}),
		plain("EMA .3", func() thesis.Filter { return thesis.EMA(.3) }),
		plain("EMA .05", func() thesis.Filter { return thesis.EMA(.05) }),
		plain("median 9, EMA .8", func() thesis.Filter { return thesis.MedianEMA(9, .8) }),
		plain("median 5, EMA .3", func() thesis.Filter { return thesis.MedianEMA(5, .3) }),
		plain("One Euro", func() thesis.Filter { return thesis.OneEuro(10, .682, 1, 1) }),
		plain("One Euro, slow", func() thesis.Filter { return thesis.OneEuro(10, .1, .1, 1) }),
	}
}

// smooth runs a fresh filter over a sequence.
func (c contender) smooth(t testing.TB, xs []float64) []float64 {
	t.Helper()
	step, out := c.new(), make([]float64, len(xs))
	for i, x := range xs {
		var err error
		if out[i], err = step(x); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

const base, height = 0.2, 0.6

// pulses samples a base with pulses of a length every period, as averages over
// unit intervals.
func pulses(n, count int, first, length, period float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = base
		for k := range count {
			at := first + float64(k)*period
			overlap := math.Min(float64(i+1), at+length) - math.Max(float64(i), at)
			xs[i] += height * math.Max(overlap, 0)
		}
	}
	return xs
}

// leak is the largest rise of the level, over the height of the pulses, on
// average over the phase of their start in a sample.
func (c contender) leak(t testing.TB, count int, length, period float64) float64 {
	const phases = 200
	var mean float64
	for i := range phases {
		var worst float64
		for _, m := range c.smooth(t, pulses(60, count, 20+(float64(i)+0.5)/phases, length, period)) {
			worst = math.Max(worst, (m-base)/height)
		}
		mean += worst / phases
	}
	return mean
}

// stepSamples is the number of samples in which 90 % of a step is taken.
func (c contender) stepSamples(t testing.TB, size float64) int {
	xs := make([]float64, 200)
	for i := range xs {
		xs[i] = base
		if i >= 20 {
			xs[i] += size
		}
	}
	for i, m := range c.smooth(t, xs) {
		if m >= base+0.9*size-1e-12 {
			return i - 19
		}
	}
	return len(xs)
}

// noisy returns the share of a Gaussian noise that is left about a constant
// level and the leak of a spike of four samples in it.
func (c contender) noisy(t testing.TB, sd float64) (left, leak float64) {
	rng := rand.New(rand.NewPCG(1, 7))
	const trials, settle = 150, 400
	for range trials {
		quiet, spiked := make([]float64, settle+15), make([]float64, settle+15)
		for i := range quiet {
			quiet[i] = base + sd*rng.NormFloat64()
			spiked[i] = quiet[i]
			if i >= settle && i < settle+4 {
				spiked[i] += height
			}
		}
		without, with := c.smooth(t, quiet), c.smooth(t, spiked)
		left += (without[settle] - base) * (without[settle] - base) / trials / sd / sd
		var worst float64
		for i := range with {
			worst = math.Max(worst, (with[i]-without[i])/height)
		}
		leak += worst / trials
	}
	return math.Sqrt(left), leak
}

// lag is the delay, in samples, behind a ramp of .01 a sample.
func (c contender) lag(t testing.TB) float64 {
	xs := make([]float64, 80)
	for i := range xs {
		xs[i] = 0.01 * float64(i)
	}
	return (xs[79] - c.smooth(t, xs)[79]) / 0.01
}

// alternation is the number of samples after which the level has taken 30 % of
// a load that alternates every three samples, 50 % on average. A filter that
// takes each of them for a spike never does.
func (c contender) alternation(t testing.TB) float64 {
	const start, period = 20, 6
	xs := make([]float64, 120)
	for i := range xs {
		xs[i] = base
		if i >= start && (i-start)%period < period/2 {
			xs[i] += height
		}
	}
	ms := c.smooth(t, xs)
	for i := start; i+period <= len(ms); i++ {
		var mean float64
		for _, m := range ms[i : i+period] {
			mean += (m - base) / height / period
		}
		if mean > 0.3 {
			return float64(i - start + 1)
		}
	}
	return float64(len(xs))
}

// measures are the columns of the trade. Shares are in percent.
var measures = []struct {
	name      string
	tolerance float64
	of        func(testing.TB, contender) float64
}{
	{"200 ms", 1, func(t testing.TB, c contender) float64 { return 100 * c.leak(t, 1, 2, 0) }},
	{"300 ms", 1, func(t testing.TB, c contender) float64 { return 100 * c.leak(t, 1, 3, 0) }},
	{"360 ms", 1, func(t testing.TB, c contender) float64 { return 100 * c.leak(t, 1, 3.6, 0) }},
	{"burst", 1, func(t testing.TB, c contender) float64 { return 100 * c.leak(t, 3, 2, 4) }},
	{"step", 0, func(t testing.TB, c contender) float64 { return float64(c.stepSamples(t, height)) }},
	{"lag", 0.1, func(t testing.TB, c contender) float64 { return c.lag(t) }},
	{"left", 2, func(t testing.TB, c contender) float64 { left, _ := c.noisy(t, 0.05); return 100 * left }},
	{"sd .05", 2, func(t testing.TB, c contender) float64 { _, leak := c.noisy(t, 0.05); return 100 * leak }},
	{"sd .10", 2, func(t testing.TB, c contender) float64 { _, leak := c.noisy(t, 0.1); return 100 * leak }},
	{"sd .15", 2, func(t testing.TB, c contender) float64 { _, leak := c.noisy(t, 0.15); return 100 * leak }},
	{"altern.", 1, func(t testing.TB, c contender) float64 { return c.alternation(t) }},
}

// TestTrade holds the table that the choice of the defaults rests on:
//
//   - the leak of a spike of 200, 300 and 360 ms and of three spikes of 200 ms
//     within a second, in percent of the height, on average over the phase;
//   - the samples to 90 % of a step, and behind a ramp;
//   - what is left of a noise of sd .05, in percent, and the leak of a spike of
//     four samples and height .6 in noise of three strengths;
//   - the samples until a load that alternates is noticed (120: never).
func TestTrade(t *testing.T) {
	want := map[string][]float64{
		"dynamic":          {9.6, 14, 22.4, 23.8, 6, 2.3, 40, 21.3, 22.9, 37.7, 14},
		"N=4":              {9.6, 39.9, 74.4, 23.8, 5, 2.3, 40, 82.9, 82, 82.7, 14},
		"hold=.02":         {4, 5.9, 16.1, 10, 6, 2.3, 40.3, 10.8, 13.7, 33, 42},
		"hold=.1":          {18.3, 26.1, 32.9, 38.4, 6, 2.3, 38.3, 36.4, 36.9, 48.7, 5},
		"delta=.05":        {9.7, 14.1, 21.3, 23.7, 6, 2.3, 40, 21.3, 22.3, 31.2, 14},
		"kappa=2.5":        {9.6, 14, 22.4, 23.8, 6, 2.3, 35.1, 25, 37.5, 50.9, 14},
		"kappa=4":          {9.6, 14, 22.4, 23.8, 6, 2.3, 41.1, 19.3, 22.9, 51.2, 14},
		"EMA .3":           {46.6, 61.5, 68.5, 62, 7, 2.3, 40.9, 76, 76, 76, 1},
		"EMA .05":          {9.5, 14, 16.5, 23.7, 45, 18.7, 16.5, 18.5, 18.5, 18.5, 14},
		"median 9, EMA .8": {0, 0, 9, 73, 6, 4.2, 38.9, 13, 26.1, 38.4, 5},
		"median 5, EMA .3": {16.4, 50.8, 67, 55.4, 9, 4.3, 38.3, 72.9, 69.8, 67.2, 1},
		"One Euro":         {78.8, 91.4, 94.9, 78.8, 3, 1.7, 50.5, 97.9, 99.2, 101.4, 1},
		"One Euro, slow":   {30.9, 45.4, 52.6, 51.3, 13, 8.3, 21, 60.6, 61.1, 62, 1},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-18s", "")
	for _, m := range measures {
		fmt.Fprintf(&table, "%8s", m.name)
	}
	for _, c := range contenders() {
		fmt.Fprintf(&table, "\n%-18s", c.name)
		for i, m := range measures {
			got := m.of(t, c)
			fmt.Fprintf(&table, "%8.1f", got)
			if row := want[c.name]; !(math.Abs(got-row[i]) <= m.tolerance) {
				t.Errorf("%s: %s is %.1f, want %g ± %g", c.name, m.name, got, row[i], m.tolerance)
			}
		}
	}
	t.Log(table.String())
}
