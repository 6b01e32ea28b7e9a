package sim_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Each peer gets a cluster of two nodes of 4 cores in which its own telemetry or rule makes a
// difference, so that a peer that is not plugged in is found: kube-scheduler alone would distribute
// the pods at random.

// loads are backgrounds of two nodes.
func loads(step float64, first, second []float64) []sim.Series {
	return []sim.Series{{Step: step, Cores: first}, {Step: step, Cores: second}}
}

// fewPods returns small pods, one each so many seconds.
func fewPods(n int, from, every float64) []sim.Pod {
	pods := make([]sim.Pod, n)
	for i := range pods {
		pods[i] = sim.Pod{Created: from + every*float64(i), Work: .1, Request: baseline.Resources{CPU: .01}}
	}
	return pods
}

// onFirst returns how many pods ran on the first node.
func onFirst(r sim.Result) int {
	n := 0
	for _, record := range r.Records {
		if record.Node == 0 {
			n++
		}
	}
	return n
}

// A peer that measures sees undeclared load.
func TestPeersSeeHiddenLoad(t *testing.T) {
	background := loads(1, []float64{4}, []float64{0})
	// One pod on each node, that declares much and uses little.
	beside := sim.Pod{Work: 50, Cores: .05, Request: baseline.Resources{CPU: .5}, Limit: baseline.Resources{CPU: 4}}
	pods := []sim.Pod{beside, beside}
	pods[0].On, pods[1].On = 1, 2
	pods = append(pods, fewPods(20, 400, 5)...)
	for _, s := range []sim.Scheduler{
		sim.TargetLoadPacking{Target: 90}, sim.LoadVariationRiskBalancing{}, sim.LowRiskOverCommitment{}, sim.LoadAware{},
	} {
		r := run(t, sim.Config{Nodes: 2, Scheduler: s, Background: background, Seed: 4}, pods)
		if got := onFirst(r) - 1; got != 0 {
			t.Errorf("%T: %d of 20 pods on the node that is full", s, got)
		}
	}
	r := run(t, sim.Config{Nodes: 2, Scheduler: sim.Default{}, Background: background, Seed: 4}, pods)
	if got := onFirst(r) - 1; got < 3 || got > 17 {
		t.Errorf("default: %d of 20 pods on the first node, want about half", got)
	}
}

// One report is enough: that of a minute from the node's start.
func TestLoadAwareBelievesTheFirstReport(t *testing.T) {
	for seed := range uint64(4) {
		background := loads(1, []float64{4}, []float64{0})
		r := run(t, sim.Config{Nodes: 2, Scheduler: sim.LoadAware{}, Background: background, Seed: seed}, fewPods(10, 57, .1))
		if got := onFirst(r); got != 0 {
			t.Errorf("seed %d: %d of 10 pods on the node that is full", seed, got)
		}
	}
}

// A node that is half full admits a small pod, but not a large one a moment before.
func TestLoadAwareAsksForEachPod(t *testing.T) {
	pods := []sim.Pod{{Created: 100, Work: 1, Request: baseline.Resources{CPU: 1}}, {Created: 100.01, Work: 1}}
	r := run(t, sim.Config{Nodes: 1, Scheduler: sim.LoadAware{}, Background: loads(1, []float64{2.2}, nil)[:1], Seed: 1, Horizon: 200}, pods)
	if large, small := r.Records[0].Bound, r.Records[1].Bound; large >= 0 || small < 100 || small > 101 {
		t.Errorf("the large pod was bound at %g s, the small one at %g s", large, small)
	}
}

// Undeclared memory is seen, too.
func TestHiddenMemoryIsSeen(t *testing.T) {
	pods := append([]sim.Pod{{On: 1, Work: 1000, Cores: .01, Memory: 12 << 30}}, fewPods(20, 400, 5)...)
	busier := loads(1, []float64{0}, []float64{.4}) // the second has the busier CPU
	r := run(t, sim.Config{Nodes: 2, Scheduler: sim.TwoChoices{}, Background: busier, Seed: 4, Horizon: 1000}, pods)
	if got := onFirst(r) - 1; got != 0 {
		t.Errorf("%d of 20 pods on the node whose memory is taken", got)
	}
}

// The newest scrape is the newest although the window has been full for long.
func TestLatestScrape(t *testing.T) {
	background := loads(1000, []float64{4, 0}, []float64{0, 4})
	s := sim.LoadVariationRiskBalancing{Latest: true}
	r := run(t, sim.Config{Nodes: 2, Scheduler: s, Background: background, Seed: 4}, fewPods(20, 1150, 5))
	if got := onFirst(r); got != 20 {
		t.Errorf("%d of 20 pods on the node that has become idle", got)
	}
}

// By hand: pods of a limit of .38 cores are 9.5 % of a node each, beside .8 % that its
// daemons take. Four score 55, 70, 84 and 98 on one node; the fifth 34 there and 55 on
// the other, and so on.
// None runs, so only what is in flight can tell; the telemetry has begun.
func TestTargetLoadPackingCountsPodsInFlight(t *testing.T) {
	pods := make([]sim.Pod, 8)
	for i := range pods {
		pods[i] = sim.Pod{Created: 200, Work: 1, Cores: .1, Startup: 40, Limit: baseline.Resources{CPU: .38}}
	}
	for seed := range uint64(4) {
		r := run(t, sim.Config{Nodes: 2, Scheduler: sim.TargetLoadPacking{}, Seed: seed}, pods)
		var same []bool
		for _, record := range r.Records {
			same = append(same, record.Node == r.Records[0].Node)
		}
		if diff := cmp.Diff([]bool{true, true, true, true, false, false, false, false}, same); diff != "" {
			t.Errorf("seed %d: on the first pod's node (-want +got):\n%s", seed, diff)
		}
	}
}

// By hand: requests of 1.2 cores are expected to use .85 of that, 25.5 % of the
// node each, of which two stay below 65 %. The third waits until one ends.
func TestLoadAwareCountsYoungPods(t *testing.T) {
	pods := make([]sim.Pod, 3)
	for i := range pods {
		pods[i] = sim.Pod{Work: 5, Cores: .1, Request: baseline.Resources{CPU: 1.2}}
	}
	r := run(t, sim.Config{Nodes: 1, Scheduler: sim.LoadAware{}, Seed: 1}, pods)
	for i, record := range r.Records {
		if early := record.Bound < 50; early != (i < 2) {
			t.Errorf("pod %d was bound at %g s", i, record.Bound)
		}
	}
}

// A node whose pods' limits exceed it is the riskier one.
func TestLowRiskCountsLimits(t *testing.T) {
	for seed := range uint64(8) {
		pods := []sim.Pod{
			{Work: 50, Cores: .1, On: 1, Request: baseline.Resources{CPU: 1}, Limit: baseline.Resources{CPU: 8}},
			{Work: 50, Cores: .1, On: 2, Request: baseline.Resources{CPU: 1}, Limit: baseline.Resources{CPU: 1}},
			{Work: 1, Created: 200, Request: baseline.Resources{CPU: .1}, Limit: baseline.Resources{CPU: 1}},
		}
		r := run(t, sim.Config{Nodes: 2, Scheduler: sim.LowRiskOverCommitment{}, Seed: seed}, pods)
		if r.Records[2].Node != 1 {
			t.Errorf("seed %d: the pod went to the node with limits of 8 cores", seed)
		}
	}
}

// The options that distinguish Spazio's variants must change decisions.
func TestVariantsDiffer(t *testing.T) {
	pods := mixed(3, 80)
	records := func(s sim.Scheduler) []sim.Record {
		return run(t, sim.Config{Nodes: 3, Scheduler: s, Seed: 5}, pods).Records
	}
	for name, pair := range map[string][2]sim.Scheduler{
		"pressure":       {sim.Spazio{}, sim.Spazio{Pressure: true}},
		"scalar":         {sim.Spazio{}, sim.Scalar{}},
		"literal ledger": {sim.Scalar{}, sim.Scalar{Literal: true}},
		"unit":           {sim.Scalar{}, sim.Scalar{TypicalLoads: true}},
	} {
		if cmp.Equal(records(pair[0]), records(pair[1])) {
			t.Errorf("%s: no difference", name)
		}
	}
}

// Reserving half of the CPU on nodes with a server halves the pods there, about, and changes
// nothing on other nodes.
func TestServerReserve(t *testing.T) {
	pods := []sim.Pod{{On: 1, Server: node.Server{Rate: 1, Work: .001}}}
	for range 80 {
		pods = append(pods, sim.Pod{Work: 600})
	}
	placed := func(reserve float64) (first, second int) {
		c := sim.Config{Nodes: 2, Node: node.Params{Cores: 16}, Seed: 3, Horizon: 120, Scheduler: sim.Spazio{ServerReserve: reserve}}
		for _, record := range run(t, c, pods).Records[1:] {
			switch record.Node {
			case 0:
				first++
			case 1:
				second++
			}
		}
		return first, second
	}
	first, second := placed(0)
	less, same := placed(.5)
	if ratio := float64(less) / float64(first); ratio > .8 || ratio < .25 {
		t.Errorf("%d pods on the node with a server, %d without a reserve", less, first)
	}
	if math.Abs(float64(same-second)) > 2 {
		t.Errorf("%d pods on the other node, %d without a reserve", same, second)
	}
}
