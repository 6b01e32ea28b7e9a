package kalman_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// overloaded is a node whose pods are threads that share its cores, and whose CPU channel is half
// utilisation and half waiting tasks.
type overloaded struct {
	cores   float64
	threads func(rng *rand.Rand) float64 // threads of a pod, each of which can use a core
	work    float64                      // mean core-seconds of a thread
	read    func(rng *rand.Rand, tasks, cores float64) float64
}

// exact reads the channel by its definition, with a sample's noise.
func exact(rng *rand.Rand, tasks, cores float64) float64 {
	return clamp(min(1, tasks/(2*cores)) + .02*rng.NormFloat64())
}

// alternating reads an overloaded node by the time some task waits on each CPU, so that readings
// alternate between half and all CPUs.
func alternating(rng *rand.Rand, tasks, cores float64) float64 {
	if tasks <= 1.2*cores {
		return exact(rng, tasks, cores)
	}
	return clamp(.75 + .25*float64(rng.IntN(2)) - .02*rng.Float64())
}

// stolen reads a node whose utilisation is a twentieth too low.
func stolen(rng *rand.Rand, tasks, cores float64) float64 {
	return min(exact(rng, tasks, cores), .975-.01*rng.Float64())
}

func clamp(y float64) float64 { return min(max(y, 0), 1) }

// flood starts the pods of a batch, a few per second, and runs them until all have ended and the node
// was idle for a while. It calls visit each second.
func (o overloaded) flood(rng *rand.Rand, pods int, visit func(y, n float64)) {
	const idle = .03
	type pod struct{ threads, left float64 }
	var run []pod
	for quiet := 0; quiet < 20; {
		for range max(1, int(o.cores)) {
			if pods > 0 {
				pods--
				t := o.threads(rng)
				run = append(run, pod{t, t * o.work * (.5 + rng.Float64())})
			}
		}
		var tasks float64
		for _, p := range run {
			tasks += p.threads
		}
		visit(o.read(rng, 2*o.cores*idle+tasks, o.cores), float64(len(run)))
		rate := min(1, o.cores/max(tasks, 1e-9))
		kept := run[:0]
		for _, p := range run {
			if p.left -= rate * p.threads; p.left > 0 {
				kept = append(kept, p)
			}
		}
		run = kept
		if len(run) == 0 {
			quiet++
		}
	}
}

// alike returns pods of one thread.
func alike(*rand.Rand) float64 { return 1 }

// unlike returns pods of half a core, one or two, one on average.
func unlike(rng *rand.Rand) float64 {
	return [...]float64{.5, .5, .5, .5, 1, 1, 2, 2}[rng.IntN(8)]
}

// TestOverloadDoesNotMislead floods nodes of every size with fifteen pods per core, three times. In the
// end the estimated cost of a pod is right or unknown.
func TestOverloadDoesNotMislead(t *testing.T) {
	// Unlike pods have a standard deviation of .6 of their mean, and few fit a small node at once.
	tolerance := map[string]float64{"alike": .25, "unlike": .5}
	for _, cores := range []float64{2, 4, 16, 64} {
		for name, read := range map[string]func(*rand.Rand, float64, float64) float64{
			"exact": exact, "alternating": alternating, "stolen": stolen,
		} {
			for mix, threads := range map[string]func(*rand.Rand) float64{"alike": alike, "unlike": unlike} {
				o := overloaded{cores: cores, threads: threads, work: 4, read: read}
				known, within, sum := 0., 0., 0.
				for seed := range uint64(20) {
					e := o.estimate(t, rand.New(rand.NewPCG(seed, 7)))
					if !e.Known {
						continue
					}
					cost, sd := e.Cost*2*cores, e.CostSD*2*cores
					known++
					sum += cost
					if off := math.Abs(cost - 1); off <= tolerance[mix] || off <= 2*sd {
						within++
					}
				}
				at := fmt.Sprintf("%g cores, %s, %s", cores, name, mix)
				if known < 10 {
					t.Errorf("%s: got a known cost in %g of 20 runs", at, known)
				}
				if mean := sum / known; mean < .75 || mean > 1.25 {
					t.Errorf("%s: got a mean cost of %.2f cores for one-core pods", at, mean)
				}
				// One run in twenty is outside two standard deviations.
				if within < known-3 {
					t.Errorf("%s: %g of %g estimates are off by more than %g and two standard deviations", at, known-within, known, tolerance[mix])
				}
			}
		}
	}
}

// estimate floods a fresh node three times.
func (o overloaded) estimate(t *testing.T, rng *rand.Rand) kalman.Estimate {
	c := kalman.Config{Prior: 1 / o.cores, Spread: .5}
	var s kalman.State
	for range 3 {
		o.flood(rng, int(15*o.cores), func(y, n float64) {
			var err error
			if s, _, err = kalman.Step(s, 1-y, n, c); err != nil {
				t.Fatal(err)
			}
		})
	}
	return s.Estimate(c)
}

// TestFloorMeansUnknown: pods with almost no usage lower the cost to its floor, where the prior
// replaces it, until pods with more usage come.
func TestFloorMeansUnknown(t *testing.T) {
	c := kalman.Config{Prior: .2}
	var s kalman.State
	for i := range 100 {
		s, _, _ = kalman.Step(s, .9, float64(i%10), c)
	}
	if e := s.Estimate(c); e.Known || e.Cost != c.Prior || s.Cost > c.Prior*kalman.DefaultFloor {
		t.Errorf("idle pods: got %+v by %+v", e, s)
	}
	for i := range 100 {
		s, _, _ = kalman.Step(s, .9-.05*float64(i%10), float64(i%10), c)
	}
	if e := s.Estimate(c); !e.Known || math.Abs(e.Cost-.05) > .005 {
		t.Errorf("pods of .05: got %+v", e)
	}
}

// TestFullRaisesTheCost: a full channel where the estimate expects room means that pods take more;
// where it expects none, it means nothing.
func TestFullRaisesTheCost(t *testing.T) {
	c := kalman.Config{Prior: .1}
	var s kalman.State
	for i := range 40 {
		n := float64(i % 4)
		s, _, _ = kalman.Step(s, .95-.05*n, n, c)
	}
	before := s.Cost
	next, v, err := kalman.Step(s, 0, 12, c) // .05·12 leaves .35
	if err != nil || v == kalman.Censored {
		t.Fatalf("full beside expected room: got %v, %v", v, err)
	}
	for v == kalman.Outlier {
		next, v, _ = kalman.Step(next, 0, 12, c)
	}
	if !(next.Cost > before) {
		t.Errorf("12 pods fill the channel: got a cost from %v to %v", before, next.Cost)
	}
	if same, v, _ := kalman.Step(s, 0, 30, c); v != kalman.Censored || same.Cost != before || same.Level != s.Level {
		t.Errorf("full as expected: got %v, %+v after %+v", v, same, s)
	}
}

// TestContendedNeedsManyReadings: if the channel is full by the estimate, a reading in its upper
// half is accepted after sixty in a row, one in its lower half at once.
func TestContendedNeedsManyReadings(t *testing.T) {
	c := kalman.Config{Prior: .25}
	var s kalman.State
	for i := range 40 {
		n := float64(i % 4)
		s, _, _ = kalman.Step(s, .95-.25*n, n, c)
	}
	for _, tt := range []struct {
		name  string
		full  bool // in between
		z     float64
		after int // censored steps
	}{
		{"contended", false, .3, 60},
		{"contended once more", true, .3, 60},
		{"idle processors", false, .6, 0},
	} {
		s := s
		if tt.full {
			s, _, _ = kalman.Step(s, .3, 8, c)
			s, _, _ = kalman.Step(s, 0, 8, c)
		}
		censored := 0
		for range 100 {
			var v kalman.Verdict
			if s, v, _ = kalman.Step(s, tt.z, 8, c); v != kalman.Censored {
				break
			}
			censored++
		}
		if censored != tt.after {
			t.Errorf("%s: got acceptance after %d steps, want %d", tt.name, censored, tt.after)
		}
	}
}

// TestBaseLoadIsAccepted: a node that another load had filled, with or without pods, accepts at once
// that it has room again. Only pods make readings alternate.
func TestBaseLoadIsAccepted(t *testing.T) {
	for _, pods := range []float64{0, 2} {
		var s kalman.State
		for range 20 {
			s, _, _ = kalman.Step(s, .9, 0, kalman.Config{})
		}
		for range 3 * kalman.DefaultPatience {
			s, _, _ = kalman.Step(s, .01, 0, kalman.Config{})
		}
		if s.Level > .05 {
			t.Fatalf("full node: got level %v", s.Level)
		}
		for range 3 * kalman.DefaultPatience {
			s, _, _ = kalman.Step(s, .45, pods, kalman.Config{})
		}
		if got := s.Level; math.Abs(got-.45) > .02 {
			t.Errorf("level %v with %v pods, want .45", got, pods)
		}
	}
}

// churning reads a node of two processors with threads that come and go: a reading includes the cost of
// starting and stopping them, and the count shows some of them too early or too late.
func churning(t *testing.T, rng *rand.Rand, idle, steps int) kalman.Estimate {
	p, err := kalman.NewPerChannel(kalman.Config{Prior: .5, Spread: .5})
	if err != nil {
		t.Fatal(err)
	}
	step := func(o kalman.Observation) {
		if err := p.Step(o); err != nil {
			t.Fatal(err)
		}
	}
	for range idle {
		step(kalman.Observation{Headroom: []float64{.96 + .01*rng.NormFloat64()}})
	}
	for range steps {
		n := float64(1 + rng.IntN(4))
		shown := max(n+float64(rng.IntN(3)-1), 0)
		z := clamp(.96 - .25*shown + .1*rng.NormFloat64())
		step(kalman.Observation{Headroom: []float64{z}, Pods: n, Churn: true, Transitioning: float64(rng.IntN(2))})
	}
	return p.EstimatesTo(nil)[0]
}

// TestChurnIsRead: half a minute of churn teaches a pod's cost, on a node that was idle before and on
// one that never was.
func TestChurnIsRead(t *testing.T) {
	for seed := range uint64(40) {
		e := churning(t, rand.New(rand.NewPCG(seed, 3)), 20, 30)
		if !e.Known || math.Abs(e.Cost/.25-1) > .25 {
			t.Errorf("seed %d: got %+v, want a cost of .25", seed, e)
		}
		if e := churning(t, rand.New(rand.NewPCG(seed, 3)), 0, 300); e.Known && e.Cost < .125 {
			t.Errorf("seed %d, never idle: got %+v, want a cost of .25 or an unknown one", seed, e)
		}
	}
}

// TestBurstTeachesLittle: if many pods arrive within a second and the count shows only a part while the
// node is full already, the cost does not rise.
func TestBurstTeachesLittle(t *testing.T) {
	const cores = 64
	p, err := kalman.NewPerChannel(kalman.Config{Prior: 1. / cores, Spread: .5})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := p.Step(kalman.Observation{Headroom: []float64{.96}}); err != nil {
			t.Fatal(err)
		}
	}
	for n := 50.; n < 500; n += 100 {
		if err := p.Step(kalman.Observation{Headroom: []float64{0}, Pods: n / 5, Churn: true, Transitioning: n * 4 / 5}); err != nil {
			t.Fatal(err)
		}
	}
	if e := p.EstimatesTo(nil)[0]; e.Known || p.StatesTo(nil)[0].Cost > 1.5/cores {
		t.Errorf("got %+v of %+v, want an unknown cost", e, p.StatesTo(nil)[0])
	}
}

// TestChangeIsNoNoise: a confirmed step of the base load leaves the measured noise as it was.
func TestChangeIsNoNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var s kalman.State
	still := func(level float64, steps int) {
		for range steps {
			s, _, _ = kalman.Step(s, level+.01*rng.NormFloat64(), 3, kalman.Config{})
		}
	}
	still(.8, 500)
	before := s.DiffVar
	still(.4, 20)
	if s.Level > .45 {
		t.Fatalf("got level %v after the step to .4", s.Level)
	}
	if s.DiffVar > 2*before {
		t.Errorf("noise went from %v to %v with a step of the level", before, s.DiffVar)
	}
}

// TestOutliersAddPodsOnce: pods that came with an outlier widen the level by their differences once,
// however many outliers are pending.
func TestOutliersAddPodsOnce(t *testing.T) {
	c := kalman.Config{Prior: .05, Spread: 1, LevelDrift: 1e-9, CostDrift: 1e-9}
	var s kalman.State
	for i := range 300 {
		n := float64(i % 4)
		s, _, _ = kalman.Step(s, .9-.01*n, n, c)
	}
	before := s
	for i := 1; i < kalman.DefaultPatience; i++ {
		var v kalman.Verdict
		if s, v, _ = kalman.Step(s, .5, 4, c); v != kalman.Outlier {
			t.Fatalf("step %d: %v", i, v)
		}
	}
	if grown := s.LevelVar - before.LevelVar; grown > .1*before.Cost*before.Cost {
		t.Errorf("with pending outliers the level's variance grew by %v, a pod's variance is %v", grown, before.Cost*before.Cost)
	}
}
