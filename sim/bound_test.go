package sim_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// unlike returns a workload of pods that differ in width, work and start-up, and a cluster for it.
func unlike(seed uint64) (sim.Config, []sim.Pod) {
	rng := rand.New(rand.NewPCG(seed, 31))
	c := sim.Config{Nodes: 1 + rng.IntN(3), Node: node.Params{Cores: 1 + rng.IntN(8)}, Seed: seed, Warmup: .5}
	if rng.IntN(2) == 0 {
		for range c.Nodes {
			c.Sizes = append(c.Sizes, 1+rng.IntN(8))
		}
	}
	widths := []float64{.1, .25, .5, 1, 2.5, 8}
	pods := make([]sim.Pod, 1+rng.IntN(14))
	arrive := float64(rng.IntN(2)) * 10 * rng.Float64()
	for i := range pods {
		p := sim.Pod{
			Created: arrive * rng.Float64(), Work: .01 + 3*rng.ExpFloat64(), Startup: 2 * rng.Float64(),
			Cores: widths[rng.IntN(len(widths))],
		}
		switch rng.IntN(8) {
		case 0:
			p.Init = node.Init{Containers: 1, Seconds: rng.Float64(), Cores: float64(rng.IntN(2)), Gap: rng.Float64()}
		case 1:
			p.Request = baseline.Resources{CPU: min(p.Cores, .5)}
		case 2:
			p.On = 1 + rng.IntN(c.Nodes)
		case 3:
			p.Memory, p.Ramp = 3e9, 2*rng.Float64()
		}
		pods[i] = p
	}
	return c, pods
}

// No scheduler beats the bound, nor does the central queue.
func TestNothingBeatsLowerBound(t *testing.T) {
	tight, seeds := 0, uint64(2000)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		c, pods := unlike(seed)
		leastMakespan, leastSojourn, err := sim.LowerBound(c, pods)
		if err != nil {
			t.Fatal(err)
		}
		queue, err := sim.CentralQueue(c, pods)
		if err != nil {
			t.Fatal(err)
		}
		c.Scheduler = all[seed%uint64(len(all))]
		results := map[string]sim.Result{"scheduler": run(t, c, pods)}
		if !placed(pods) { // the queue knows nothing of pods that are there before it
			results["central queue"] = queue
		}
		c.Scheduler = sim.Default{}
		results["default"] = run(t, c, pods)
		for name, r := range results {
			if metric(t, r, "unfinished") > 0 {
				continue // its mean is of those that ended
			}
			makespan, sojourn := metric(t, r, "makespan"), metric(t, r, "sojourn_mean")
			if makespan < leastMakespan-1e-5 || sojourn < leastSojourn-1e-5 {
				t.Errorf("seed %d: %s (%T): makespan %g and mean sojourn %g, below the bound %g and %g",
					seed, name, all[seed%uint64(len(all))], makespan, sojourn, leastMakespan, leastSojourn)
			}
			if makespan < 1.2*leastMakespan && sojourn < 1.2*leastSojourn {
				tight++
				break
			}
		}
	}
	if tight < int(seeds)/10 { // a bound of nothing would not be beaten either
		t.Errorf("only %d of %d workloads come near the bound", tight, seeds)
	}
}

func placed(pods []sim.Pod) bool {
	for _, p := range pods {
		if p.On > 0 {
			return true
		}
	}
	return false
}

// By hand.
func TestLowerBound(t *testing.T) {
	ten := make([]sim.Pod, 11) // one pod of 10 core-seconds, ten of a tenth of a core for 10 s
	ten[0] = sim.Pod{Work: 10}
	for i := range ten[1:] {
		ten[i+1] = sim.Pod{Work: 1, Cores: .1}
	}
	type bound struct{ Makespan, MeanSojourn float64 }
	tests := []struct {
		name  string
		cores int
		pods  []sim.Pod
		want  bound
	}{
		{"nothing", 1, nil, bound{}},
		{"a server", 1, []sim.Pod{{On: 1, Server: node.Server{Rate: 1, Work: 1}}}, bound{}},
		// 20 core-seconds on one core; served one by one 1+2+…+10 and 20, 75/11, but
		// each runs for 10 s.
		{"a wide job among narrow ones", 1, ten, bound{Makespan: 20, MeanSojourn: 10}},
		// The second preempts the first: 2 to 3 and 0 to 11. The third waits for both.
		{"preemption", 1, []sim.Pod{{Work: 10}, {Work: 1, Created: 2}, {Work: 20, Created: 2}}, bound{Makespan: 31, MeanSojourn: (11 + 1 + 29) / 3.}},
		// As fast as four cores are: 1, 2 and 3 s. Alone they take 4 s each.
		{"one server of all cores", 4, []sim.Pod{{Work: 4}, {Work: 4}, {Work: 4}}, bound{Makespan: 4, MeanSojourn: 4}},
		// Twelve of them: 1 to 12 s, on average 6.5.
		{"many on all cores", 4, slicesOf(12, sim.Pod{Work: 4}), bound{Makespan: 12, MeanSojourn: 6.5}},
		// From the first creation, 5, to 8 + 2 + 3.
		{"late and slow to start", 4, []sim.Pod{{Created: 5, Work: .1}, {Created: 8, Startup: 2, Work: 3}}, bound{Makespan: 8, MeanSojourn: (.1 + 5) / 2}},
		{"after an init container", 4, []sim.Pod{{Work: 1, Init: node.Init{Containers: 2, Seconds: 3, Gap: .5}}}, bound{Makespan: 8, MeanSojourn: 8}},
	}
	for _, test := range tests {
		var got bound
		var err error
		got.Makespan, got.MeanSojourn, err = sim.LowerBound(sim.Config{Nodes: 1, Node: node.Params{Cores: test.cores}}, test.pods)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func slicesOf(n int, p sim.Pod) []sim.Pod {
	pods := make([]sim.Pod, n)
	for i := range pods {
		pods[i] = p
	}
	return pods
}

// Closed form: the central queue is M/M/c, whose mean sojourn Erlang's C gives.
func TestCentralQueueClosedForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const cores, load = 4, .8
	count, off := 300_000, .02
	if testing.Short() {
		count, off = 30_000, .06
	}
	pods := make([]sim.Pod, count)
	now := 0.
	for i := range pods {
		now += rng.ExpFloat64() / (load * cores)
		pods[i] = sim.Pod{Created: now, Work: rng.ExpFloat64() + 1e-12}
	}
	got := metric(t, central(t, cores, pods), "sojourn_mean")
	// a = 3.2: P(wait) = (a⁴/4!/(1−ρ)) / (Σ_{k<4} aᵏ/k! + that) = .5964.
	const want = 1 + .59643/(cores*(1-load))
	t.Logf("mean sojourn %.4f, closed form %.4f", got, want)
	if math.Abs(got/want-1) > off {
		t.Errorf("mean sojourn %.4f, closed form %.4f", got, want)
	}
}

func central(t *testing.T, cores int, pods []sim.Pod) sim.Result {
	t.Helper()
	r, err := sim.CentralQueue(sim.Config{Nodes: 1, Node: node.Params{Cores: cores}}, pods)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// First come, first served: a wide pod blocks later ones until it fits, and a start-up passes
// meanwhile.
func TestCentralQueueOrder(t *testing.T) {
	tests := []struct {
		name  string
		cores int
		pods  []sim.Pod
		want  []float64 // ends
	}{
		{"in order of creation", 1, []sim.Pod{{Work: 10}, {Work: 1, Created: 2}, {Work: 5, Created: 2}}, []float64{10, 11, 16}},
		{"a start-up", 1, []sim.Pod{{Created: 2, Startup: 3, Work: 1}}, []float64{6}},
		{"start-ups overlap", 1, []sim.Pod{{Startup: 1, Work: 4}, {Startup: 1, Work: 4}}, []float64{5, 9}},
		{"parts of a core", 1, []sim.Pod{{Work: 1, Cores: .5}, {Work: 1, Cores: .5}, {Work: 1, Cores: .5}}, []float64{2, 2, 4}},
		{"a wide one waits", 1, []sim.Pod{{Work: 1, Cores: .25}, {Work: 1}, {Work: 1, Cores: .25}}, []float64{4, 5, 9}},
	}
	for _, test := range tests {
		var ends []float64
		for _, record := range central(t, test.cores, test.pods).Records {
			ends = append(ends, record.Done)
		}
		if diff := cmp.Diff(test.want, ends, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Both refuse what Run refuses.
func TestBoundsRefuse(t *testing.T) {
	bad := []sim.Pod{{}}
	if _, _, err := sim.LowerBound(sim.Config{}, bad); err == nil {
		t.Error("LowerBound: a pod without work")
	}
	if _, err := sim.CentralQueue(sim.Config{Nodes: -1}, nil); err == nil {
		t.Error("CentralQueue: −1 nodes")
	}
}
