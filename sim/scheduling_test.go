package sim_test

import (
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Of 200 nodes kube-scheduler looks for 100 that fit, and no further: an empty one beyond them is
// not seen.
func TestDefaultIsContentWithAShare(t *testing.T) {
	var pods []sim.Pod
	for i := range 100 {
		pods = append(pods, sim.Pod{On: i + 1, Work: 20, Request: baseline.Resources{CPU: 1}})
	}
	pods = append(pods, sim.Pod{Created: 1, Work: 1}, sim.Pod{Created: 2, Work: 1})
	r := run(t, sim.Config{Nodes: 200, Scheduler: sim.Default{}, Seed: 1}, pods)
	if got := r.Records[100].Node; got >= 100 {
		t.Errorf("the first pod went to node %d", got)
	}
	if got := r.Records[101].Node; got < 100 {
		t.Errorf("the second pod went to node %d, though the search goes on where it ended", got)
	}
}

// Nodes of the same score are chosen at random.
func TestTiesAreBrokenByChance(t *testing.T) {
	pods := make([]sim.Pod, 200)
	for i := range pods {
		pods[i] = sim.Pod{Created: 3 * float64(i), Work: .1}
	}
	counts := make([]int, 4)
	for _, record := range run(t, sim.Config{Nodes: 4, Scheduler: sim.Default{}, Seed: 1}, pods).Records {
		counts[record.Node]++
	}
	for i, n := range counts {
		if n < 30 || n > 70 {
			t.Errorf("node %d had %d of 200 pods", i, n)
		}
	}
}

// A memory request is respected like one of CPU.
func TestDefaultHoldsMemoryRequests(t *testing.T) {
	pods := make([]sim.Pod, 4)
	for i := range pods {
		pods[i] = sim.Pod{Work: 10, Request: baseline.Resources{Memory: 7 << 30}} // of 16
	}
	if r := run(t, sim.Config{Nodes: 1, Scheduler: sim.Default{}, Seed: 1}, pods); r.Most != 2 {
		t.Errorf("%d pods of 7 GiB at once on 16", r.Most)
	}
}

// A kubelet starts ten pods a second.
func TestKubeletRate(t *testing.T) {
	first, last := 1e9, 0.
	for _, record := range run(t, sim.Config{Nodes: 1, Scheduler: sim.Default{}, Seed: 1}, make20()).Records {
		first, last = min(first, record.Running), max(last, record.Running)
	}
	if span := last - first; span < 1.9-1e-6 || span > 2 {
		t.Errorf("20 pods began within %g s, want 1.9", span)
	}
}

func make20() []sim.Pod {
	pods := make([]sim.Pod, 20)
	for i := range pods {
		pods[i] = sim.Pod{Work: 10}
	}
	return pods
}

// A refused pod is retried at once when there is room, regardless of back-off, as long as no other
// is to be tried, so that no slot is idle.
func TestPopFromBackoff(t *testing.T) {
	full := baseline.Resources{CPU: 4}
	pods := []sim.Pod{{Work: .3, Request: full}, {Work: .3, Request: full}}
	r := run(t, sim.Config{Nodes: 1, Scheduler: sim.Default{}, Seed: 1}, pods)
	if got := r.Records[1].Bound; got < .3 || got > .32 {
		t.Errorf("the second pod was bound at %g s, want right after the first", got)
	}
}

// The system's memory, and what an operator reserves, cannot be requested by pods.
func TestReserved(t *testing.T) {
	pods := slicesOf(4, sim.Pod{Work: 10, Request: baseline.Resources{CPU: 1, Memory: 39 << 30 / 10}}) // four of 3.9 GiB on 16, of which the system takes .8
	for _, test := range []struct {
		reserved *baseline.Resources
		most     int
	}{
		{nil, 3},
		{&baseline.Resources{}, 4},
		{&baseline.Resources{CPU: 2.5}, 1},
	} {
		r := run(t, sim.Config{Nodes: 1, Reserved: test.reserved, Scheduler: sim.Default{}, Seed: 1}, pods)
		if r.Most != test.most {
			t.Errorf("%+v reserved: %d pods at once, want %d", test.reserved, r.Most, test.most)
		}
	}
}

// A limit is a request if there is no other.
func TestLimitIsARequest(t *testing.T) {
	pods := slicesOf(4, sim.Pod{Work: 10, Limit: baseline.Resources{CPU: 2}})
	if r := run(t, sim.Config{Nodes: 1, Scheduler: sim.Default{}, Seed: 1}, pods); r.Most != 2 {
		t.Errorf("%d pods with limits of 2 cores at once on 4", r.Most)
	}
}

// By hand, of 100 each: with the pod the first node has 25 of the CPU and 97 of the
// memory left, the second 72 and 46, so that the first has more, 61 to 59; but its
// balance gets worse, 68 to 81.
func TestDefaultBalances(t *testing.T) {
	pods := []sim.Pod{
		{On: 1, Work: 50, Request: baseline.Resources{CPU: 2}},
		{On: 2, Work: 50, Request: baseline.Resources{Memory: 8 << 30}},
		{Created: 1, Work: 1, Request: baseline.Resources{CPU: 1}},
	}
	if r := run(t, sim.Config{Nodes: 2, Scheduler: sim.Default{}, Seed: 1}, pods); r.Records[2].Node != 1 {
		t.Error("the pod went to the node whose balance it spoils")
	}
}

// On nodes that only kill, a killed pod comes back after ten seconds, and after twenty the next
// time.
func TestRestartDelay(t *testing.T) {
	pods := []sim.Pod{{Work: 30, Memory: 9e9}, {Created: 4, Work: 1, Memory: 9e9}}
	c := sim.Config{Nodes: 1, Node: node.Params{Overcommit: node.Kill}, Scheduler: sim.Default{}, Seed: 1}
	got := run(t, c, pods).Records[1]
	// Killed at 4, 14 and 34 s.
	if got.Kills != 2 || got.Bound < 34 || got.Bound > 34.5 {
		t.Errorf("%+v, want two kills and bound for good at 34 s", got)
	}

}

// The end of the warm-up is a time like any other.
func TestSummariseDoneAtZero(t *testing.T) {
	r := sim.Result{Nodes: 1, Cores: 1, Pods: []sim.Pod{{Work: 1}}, Records: []sim.Record{{}}}
	for _, m := range sim.Summarise(r) {
		if m.Name == "unfinished" && m.Value != 0 {
			t.Error("a pod that was done at 0 s is unfinished")
		}
	}
}

// Useful work is measured over one window, whatever the scheduler does in it: pods that wait for a
// slot and pods that share one do the same work in the same time, so neither has an advantage.
func TestUsefulShareHasOneWindow(t *testing.T) {
	waiting := make([]sim.Pod, 8)
	for i := range waiting {
		waiting[i] = sim.Pod{Work: 10, Request: baseline.Resources{CPU: 1}}
	}
	sharing := make([]sim.Pod, 8)
	for i := range sharing {
		sharing[i] = sim.Pod{Work: 10}
	}
	for name, pods := range map[string][]sim.Pod{"waiting": waiting, "sharing": sharing} {
		r := run(t, sim.Config{Nodes: 1, Scheduler: sim.Default{}, Seed: 1}, pods)
		// 80 core-seconds on 4 cores for as long as it took.
		if got, want := metric(t, r, "useful_share"), 80/(4*r.End); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: useful share %.4f, want %.4f", name, got, want)
		}
	}
}

// metric is one figure of a run.
func metric(t testing.TB, r sim.Result, name string) float64 {
	t.Helper()
	for _, m := range sim.Summarise(r) {
		if m.Name == name {
			return m.Value
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
