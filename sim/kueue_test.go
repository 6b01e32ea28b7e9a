package sim_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// requesting returns pods of ten seconds that request that many cores and use as many.
func requesting(cores ...float64) []sim.Pod {
	pods := make([]sim.Pod, len(cores))
	for i, c := range cores {
		pods[i] = sim.Pod{Work: 10 * c, Cores: c, Request: baseline.Resources{CPU: c}, Created: float64(i) / 100}
	}
	return pods
}

// One node of four cores: the first two leave one core of the quota. The third wants two and
// waits, and the fourth passes it.
func TestKueueIsBestEffort(t *testing.T) {
	r := run(t, sim.Config{Nodes: 1, Scheduler: sim.Kueue{}, Seed: 1}, requesting(2, 1, 2, 1, 1))
	var early []bool
	for _, record := range r.Records {
		early = append(early, record.Bound < 5)
		if record.Attempts != 1 {
			t.Errorf("%d attempts: the scheduler saw a pod before its turn", record.Attempts)
		}
	}
	if diff := cmp.Diff([]bool{true, true, false, true, false}, early); diff != "" {
		t.Errorf("admitted at once (-want +got):\n%s", diff)
	}
}

// A pod within the quota need not fit on a node: of two nodes of three cores each has one left, and
// the third pod of two cores is admitted and waits for a node.
func TestKueueCountsTheClusterNotNodes(t *testing.T) {
	r := run(t, sim.Config{Sizes: []int{3, 3}, Scheduler: sim.Kueue{}, Seed: 1}, requesting(2, 2, 2))
	if last := r.Records[2]; last.Attempts < 2 || last.Bound < 5 {
		t.Errorf("the third pod was bound at %g s after %d attempts", last.Bound, last.Attempts)
	}
}

// Pods without requests use no quota: all are admitted, and each is placed where kube-scheduler
// alone places it, two messages later.
func TestKueueLetsPodsWithoutRequestsPass(t *testing.T) {
	pods := slicesOf(40, sim.Pod{Work: 5})
	queued := run(t, sim.Config{Nodes: 2, Scheduler: sim.Kueue{}, Seed: 1}, pods)
	alone := run(t, sim.Config{Nodes: 2, Scheduler: sim.Default{}, Seed: 1}, pods)
	for i := range pods {
		if queued.Records[i].Node != alone.Records[i].Node {
			t.Fatalf("pod %d is on node %d, without a queue on %d", i, queued.Records[i].Node, alone.Records[i].Node)
		}
	}
}

// A killed pod comes back within its quota, which it returns once.
func TestKueueKeepsTheQuotaOfAKilledPod(t *testing.T) {
	pods := requesting(2, 2, 2)
	for i := range pods {
		pods[i].Memory = 20 << 30 // more than the node
		pods[i].Request.Memory = 1 << 30
	}
	pods[2].Memory = 0
	c := sim.Config{Nodes: 1, Scheduler: sim.Kueue{}, Seed: 1}
	c.Node.Overcommit = node.Evict
	r := run(t, c, pods)
	if !r.Records[0].GaveUp || !r.Records[1].GaveUp || r.Records[2].Done < 0 {
		t.Errorf("%+v", r.Records)
	}
}

// Batch pods get the unused part of a share of the node, and one that requests more than there ever
// is gets what an owner would write instead.
func TestBatchResources(t *testing.T) {
	// Of 60 % of 4 cores, 2.4, pods of one core get two.
	r := run(t, sim.Config{Nodes: 1, Scheduler: sim.LoadAware{Batch: true}, Seed: 1}, requesting(1, 1, 1))
	if r.Most != 2 || r.Records[2].Bound < 5 {
		t.Errorf("%d pods at once", r.Most)
	}
	// Beside one that uses a core, one, once the node has reported it.
	pods := requesting(1, 1, 1)
	for i := range pods {
		pods[i].Created += 400
	}
	busy := sim.Pod{On: 1, Work: 1000, Cores: 1}
	if r = run(t, sim.Config{Nodes: 1, Scheduler: sim.LoadAware{Batch: true}, Seed: 1}, append(pods, busy)); r.Most != 2 {
		t.Errorf("%d pods at once beside one that uses a core", r.Most-1)
	}
	// A load that is no pod's counts as well.
	if r = run(t, sim.Config{Nodes: 1, Scheduler: sim.LoadAware{Batch: true}, Background: loads(1, []float64{1}, nil)[:1], Seed: 1}, pods); r.Most != 1 {
		t.Errorf("%d pods at once beside a load of a core", r.Most)
	}
}

func TestBatchResourcesOfALargePod(t *testing.T) {
	r := run(t, sim.Config{Nodes: 1, Scheduler: sim.LoadAware{Batch: true}, Seed: 1, Horizon: 1000}, requesting(4, 1))
	if r.Records[0].Done < 0 || r.Records[1].Bound < r.Records[0].Done {
		t.Errorf("%+v", r.Records)
	}
}

func TestPeersRefuseOptions(t *testing.T) {
	pods := slicesOf(1, sim.Pod{Work: 1})
	for name, s := range map[string]sim.Scheduler{
		"Refresh":                 sim.TargetLoadPacking{Refresh: -1},
		"Interval":                sim.LoadAware{Interval: -1},
		"Plugin.CPUThreshold":     sim.LoadAware{Plugin: baseline.LoadAware{CPUThreshold: 2}},
		"sim_test.misspelt.Bound": misspelt{},
	} {
		_, err := sim.Run(t.Context(), sim.Config{Nodes: 1, Scheduler: s}, pods)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name {
			t.Errorf("%T: error %v, want one of %s", s, err, name)
		}
	}
}

// misspelt has a method by the name of an optional one, with other arguments.
type misspelt struct{}

func (m misspelt) Start(*sim.Cluster) (sim.Policy, error) { return m, nil }
func (misspelt) Admits(int, int) bool                     { return true }
func (misspelt) Score([]float64, []int, int)              {}
func (misspelt) Bound(int)                                {}
