package kalman_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// regime is a synthetic node: the law of its headroom over time, how its pods
// move, and what disturbs the measurement.
type regime struct {
	name           string
	capacity, cost func(i int) float64
	move           func(rng *rand.Rand, i int, n float64) float64
	noise          float64
	// kink is the pod count above which the channel is full, 0 for none: a CPU
	// read as half utilisation and half pressure.
	kink float64
	// spike is the usage a starting container adds to the step it starts in.
	spike float64
}

const (
	regimeSteps = 600
	warmUp      = 50
	dropAt      = 300 // of the capacity, in the stand-still
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
	{name: "churn", capacity: constant(.95), cost: constant(.09), move: wander(.4, 8), noise: .02, spike: .3},
}

// usage measures the node at step i with n pods after before.
func (r regime) usage(rng *rand.Rand, i int, n, before float64) float64 {
	y := 1 - r.capacity(i) + r.cost(i)*n
	if r.kink > 0 && n > r.kink {
		y = 1
	}
	if n > before {
		y += r.spike * rng.Float64()
	}
	return math.Min(math.Max(y+r.noise*rng.NormFloat64(), 0), 1)
}

// outcome is what one method did in one regime.
type outcome struct {
	avail float64 // mean absolute error of C/c, in pods, the warm-up left out
	cost  float64 // relative error of the cost after 250 steps of constant n since the capacity dropped
}

// run follows one node. Without gates every measurement is taken.
func (r regime) run(rng *rand.Rand, c kalman.Config, gates bool) outcome {
	if !gates {
		c.Gate, c.Saturation = math.MaxFloat64, 2
	}
	p, err := kalman.NewPerChannel(c)
	if err != nil {
		panic(err)
	}
	var out outcome
	z, e := make([]float64, 1), make([]kalman.Estimate, 1)
	n, before := 3., 3.
	for i := range regimeSteps {
		n = r.move(rng, i, n)
		z[0] = 1 - r.usage(rng, i, n, before)
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

// Seeds of the runs that the tunings were chosen on, and of those reported.
const development, report = 11, 12

// outcomes averages the runs of each regime.
func outcomes(c kalman.Config, gates bool, seed uint64, runs int) []outcome {
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

// contender is a method with the drifts that suit it best.
type contender struct {
	name   string
	config kalman.Config
}

var levelDrifts = []float64{.003, .01, .03, .1, .3}
var costDrifts = []float64{1e-6, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2}

func grid(c contender) []kalman.Config {
	var all []kalman.Config
	if c.config.Method == kalman.Recursive {
		for _, f := range []float64{.9, .95, .97, .98, .99, .995} {
			c.config.Forgetting = f
			all = append(all, c.config)
		}
		return all
	}
	for _, l := range levelDrifts {
		for _, q := range costDrifts {
			c.config.LevelDrift, c.config.CostDrift = l, q
			all = append(all, c.config)
		}
	}
	return all
}

func TestTune(t *testing.T) {
	for _, c := range []contender{
		{"centred", kalman.Config{}},
		{"centred, a = .1", kalman.Config{MeanGain: .1}},
		{"naive", kalman.Config{Method: kalman.Naive}},
		{"delta", kalman.Config{Method: kalman.Delta}},
		{"joint", kalman.Config{Method: kalman.Joint}},
		{"recursive", kalman.Config{Method: kalman.Recursive}},
	} {
		best, least := kalman.Config{}, math.Inf(1)
		for _, g := range grid(c) {
			if e := meanAvail(outcomes(g, true, development, 10)); e < least {
				best, least = g, e
			}
		}
		o := outcomes(best, true, report, 20)
		var b strings.Builder
		for i := range o {
			fmt.Fprintf(&b, " %6.3f", o[i].avail)
		}
		off := outcomes(best, false, report, 20)
		t.Logf("%-16s Q %.3g %.3g λ %.3g dev %.3f | rep %.3f (%s ) cost %.3f | off %.3f cost %.3f", c.name, best.LevelDrift, best.CostDrift, best.Forgetting, least, meanAvail(o), b.String(), o[4].cost, meanAvail(off), off[4].cost)
	}
}
