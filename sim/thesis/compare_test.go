package thesis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// regime is a synthetic node: the course of its headroom over time, how its pods move, and what
// disturbs the measurement.
type regime struct {
	name           string
	capacity, cost func(i int) float64
	move           func(rng *rand.Rand, i int, n float64) float64
	noise          float64
	// kink is the pod count above which the channel is full, 0 for none: a CPU
	// read as half utilisation and half pressure.
	kink float64
	// differ is the standard deviation of what single pods take relative to the
	// cost, which is the estimator's Spread.
	differ float64
	// spike is the usage a starting container adds to the step it starts in.
	spike float64
}

const (
	regimeSteps = 600
	warmUp      = 50
	dropAt      = 300 // of the capacity, in the stand-still
	dropRegime  = 4   // the index of the stand-still
)

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

// wander adds or takes a pod now and then, between 0 and most.
func wander(p, most float64) func(*rand.Rand, int, float64) float64 {
	return func(rng *rand.Rand, _ int, n float64) float64 {
		if rng.Float64() < p {
			n += float64(2*rng.IntN(2) - 1)
		}
		return math.Min(math.Max(n, 0), most)
	}
}

func bursts(rng *rand.Rand, i int, n float64) float64 {
	if i%20 == 0 {
		return float64(rng.IntN(9))
	}
	return n
}

func standStill(rng *rand.Rand, i int, n float64) float64 {
	if i > 200 && i < 550 {
		return n
	}
	return wander(.2, 8)(rng, i, n)
}

var regimes = []regime{
	{name: "cost .8→1.2 of 10", capacity: constant(1), cost: func(i int) float64 { return .08 + .04*float64(i)/regimeSteps }, move: wander(.2, 8), noise: .01},
	{name: "cost rises, noisy", capacity: constant(.95), cost: func(i int) float64 { return .06 + .04*float64(i)/regimeSteps }, move: wander(.2, 8), noise: .02},
	{name: "bursts", capacity: constant(.95), cost: constant(.08), move: bursts, noise: .03},
	{name: "outside load", capacity: func(i int) float64 { return .95 - .2*float64(i/100%2) }, cost: constant(.07), move: wander(.05, 8), noise: .02},
	{name: "stand-still", capacity: func(i int) float64 {
		if i > dropAt {
			return .75
		}
		return .95
	}, cost: constant(.07), move: standStill, noise: .02},
	{name: "kinked CPU", capacity: constant(1), cost: constant(.125), move: wander(.3, 6), noise: .015, kink: 4},
	{name: "workload switch", capacity: constant(.95), cost: func(i int) float64 { return .05 + .06*float64(i/150%2) }, move: wander(.2, 8), noise: .02},
	{name: "churn", capacity: constant(.95), cost: constant(.09), move: wander(.4, 8), noise: .02, spike: .3},
	{name: "pods that differ", capacity: constant(.95), cost: constant(.08), move: wander(.4, 8), noise: .01, differ: .5},
}

// replace returns what n pods take in mean pods, after those of shares: new ones
// draw their share, and any may be the one that ends. Pods are alike without differ.
func (r regime) replace(rng *rand.Rand, shares []float64, n float64) []float64 {
	for len(shares) > int(n) {
		last := len(shares) - 1
		if r.differ > 0 {
			i := rng.IntN(len(shares))
			shares[i] = shares[last]
		}
		shares = shares[:last]
	}
	for len(shares) < int(n) {
		share := 1.
		if r.differ > 0 { // uniform, of that deviation
			share += r.differ * math.Sqrt(3) * (2*rng.Float64() - 1)
		}
		shares = append(shares, share)
	}
	return shares
}

// usage measures the node at step i with n pods after before, which take as much as load mean ones.
func (r regime) usage(rng *rand.Rand, i int, n, before, load float64) float64 {
	y := 1 - r.capacity(i) + r.cost(i)*load
	if r.kink > 0 && n > r.kink {
		y = 1
	}
	if n > before {
		y += r.spike * rng.Float64()
	}
	return math.Min(math.Max(y+r.noise*rng.NormFloat64(), 0), 1)
}

// outcome is the result of one method in one regime.
type outcome struct {
	avail float64 // mean absolute error of C/c, in pods, the warm-up left out
	cost  float64 // relative error of the cost, 240 steps after dropAt
}

// run follows one node. Without gates every measurement is used.
func (r regime) run(rng *rand.Rand, c pipeline.EstimatorConfig, gates bool) outcome {
	if !gates {
		c.Gate, c.Saturation = math.MaxFloat64, 2
	}
	c.Spread = r.differ
	p, err := c.Method.New(c.Config)
	if err != nil {
		panic(err)
	}
	var out outcome
	var shares []float64
	z, e := make([]float64, 1), make([]kalman.Estimate, 1)
	n, before := 3., 3.
	for i := range regimeSteps {
		n = r.move(rng, i, n)
		shares = r.replace(rng, shares, n)
		load := 0.
		for _, share := range shares {
			load += share
		}
		z[0] = 1 - r.usage(rng, i, n, before, load)
		churn := gates && r.spike > 0 && n != before
		if err := p.Step(kalman.Observation{Headroom: z, Pods: n, Churn: churn}); err != nil {
			panic(err)
		}
		before = n
		if i < warmUp {
			continue
		}
		p.EstimatesTo(e)
		out.avail += math.Abs(e[0].Capacity()/e[0].Cost-r.capacity(i)/r.cost(i)) / (regimeSteps - warmUp)
		if i == dropAt+240 {
			out.cost = math.Abs(e[0].Cost-r.cost(i)) / r.cost(i)
		}
	}
	return out
}

// development is the seed of the runs that the tunings were chosen on, report of
// those that are printed; the default must be best on reports to lastReport.
const development, report, lastReport = 11, 12, 20

// outcomes averages the runs of each regime.
func outcomes(c pipeline.EstimatorConfig, gates bool, seed uint64, runs int) []outcome {
	c.Prior = .1
	all := make([]outcome, len(regimes))
	for i, r := range regimes {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		for range runs {
			o := r.run(rng, c, gates)
			all[i].avail += o.avail / float64(runs)
			all[i].cost += o.cost / float64(runs)
		}
	}
	return all
}

func meanAvail(all []outcome) float64 {
	sum := 0.
	for _, o := range all {
		sum += o.avail
	}
	return sum / float64(len(all))
}

// tuned returns the method with the drifts that suit it best on the development
// seeds.
func tuned(m pipeline.Method) pipeline.EstimatorConfig {
	c := pipeline.EstimatorConfig{Method: m}
	best, least := c, math.Inf(1)
	for _, c.LevelDrift = range []float64{.001, .003, .01, .03, .1, .3} {
		for _, c.CostDrift = range []float64{1e-6, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, .1} {
			if e := meanAvail(outcomes(c, true, development, 10)); e < least {
				best, least = c, e
			}
		}
	}
	return best
}

// column is one method in the table of TestDefaultIsBest.
type column struct {
	gated []outcome
	open  float64 // mean error of avail without gates
}

// compare runs every method's configuration on a seed.
func compare(configs []pipeline.EstimatorConfig, seed uint64) []column {
	const runs = 30
	columns := make([]column, len(configs))
	for i, c := range configs {
		columns[i] = column{
			gated: outcomes(c, true, seed, runs),
			open:  meanAvail(outcomes(c, false, seed, runs)),
		}
	}
	return columns
}

// table has a row a regime and a column a method.
func table(title string, columns []column) string {
	var b strings.Builder
	row := func(name string, cell func(c column) float64) {
		fmt.Fprintf(&b, "\n%-28s", name)
		for _, c := range columns {
			fmt.Fprintf(&b, " %12.3f", cell(c))
		}
	}
	fmt.Fprintf(&b, "%s\n%-28s", title, "mean |error| of avail, pods")
	for _, m := range methods {
		fmt.Fprintf(&b, " %12s", m)
	}
	for i, r := range regimes {
		row(r.name, func(c column) float64 { return c.gated[i].avail })
	}
	row("mean", func(c column) float64 { return meanAvail(c.gated) })
	row("mean without gates", func(c column) float64 { return c.open })
	row("cost error after a drop of C", func(c column) float64 { return c.gated[dropRegime].cost })
	return b.String()
}

// TestDefaultIsBest prints how far avail is off, for every method and regime,
// with the default drifts and with those that suit a method best on the
// development seeds. On no seed may a method have a mean lower than the default
// one's by more than the half percent in which Joint, the same filter in other
// coordinates, takes another side of a gate; and a drop of the capacity at
// constant n must leave its cost alone.
func TestDefaultIsBest(t *testing.T) {
	for _, tt := range []struct {
		title  string
		choose func(pipeline.Method) pipeline.EstimatorConfig
	}{
		{"default drifts", func(m pipeline.Method) pipeline.EstimatorConfig { return pipeline.EstimatorConfig{Method: m} }},
		{"tuned drifts", tuned},
	} {
		var configs []pipeline.EstimatorConfig
		for _, m := range methods {
			configs = append(configs, tt.choose(m))
		}
		last := uint64(lastReport)
		if testing.Short() {
			last = report
		}
		for seed := uint64(report); seed <= last; seed++ {
			title, columns := fmt.Sprintf("%s, seed %d", tt.title, seed), compare(configs, seed)
			if seed == report {
				t.Log(table(title, columns))
			}
			least := meanAvail(columns[0].gated)
			for i, c := range columns {
				if mean := meanAvail(c.gated); mean < least*.995 {
					t.Errorf("%s: %s has a mean error of %.4f pods, the default %.4f", title, configs[i].Method, mean, least)
				}
			}
			if e := columns[0].gated[dropRegime].cost; e > .05 {
				t.Errorf("%s: a drop of the capacity at constant n moved the cost: error %.3f", title, e)
			}
		}
	}
}

// BenchmarkMethods reports the mean absolute error of avail, in pods, of every
// method with its default drifts on every regime.
func BenchmarkMethods(b *testing.B) {
	for _, m := range methods {
		b.Run(m.String(), func(b *testing.B) {
			var all []outcome
			for b.Loop() {
				all = outcomes(pipeline.EstimatorConfig{Method: m}, true, report, 30)
			}
			for i, r := range regimes {
				b.ReportMetric(all[i].avail, "pods/"+strings.ReplaceAll(r.name, " ", "_"))
			}
			b.ReportMetric(meanAvail(all), "pods/mean")
		})
	}
}

// TestCentredIsJoint holds the theorem of package kalman's doc: the two scalar
// filters give what the filter with a matrix gives.
func TestCentredIsJoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	c := kalman.Config{Prior: .1, Known: 1, Floor: 1e-3}
	for run := range 20 {
		centred, joint := newLearner(t, "", c), newLearner(t, thesis.Joint, c)
		trace(rng, 2000, func(i int) float64 { return .08 + .03*math.Sin(float64(i)/200) }, func(i int, z, n float64) {
			v, w := centred.step(z, n), joint.step(z, n)
			a, b := centred.estimate(), joint.estimate()
			want := []float64{b.Level, b.LevelSD, b.MeanPods, b.Cost, b.CostSD, b.Capacity()}
			for j, got := range []float64{a.Level, a.LevelSD, a.MeanPods, a.Cost, a.CostSD, a.Capacity()} {
				if v != w || math.Abs(got-want[j]) > 1e-9 {
					t.Fatalf("run %d, step %d: centred %v %+v, joint %v %+v", run, i, v, a, w, b)
				}
			}
		})
	}
}
