package sim_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// busyHour returns a cluster of 19 nodes, of three in short runs, on which loads that no scheduler
// places take that many times all cores for an hour, and that many pods a node of 10 core-seconds
// that come late.
func busyHour(t *testing.T, times, cores int, o sim.Spazio, each int) (waits []float64, slowdown float64, r sim.Result) {
	t.Helper()
	const hour = 3600
	nodes := 19
	if testing.Short() {
		nodes = 3
	}
	late := each * nodes
	var pods []sim.Pod
	for n := range nodes {
		for range times * cores { // of an hour each
			pods = append(pods, sim.Pod{On: n + 1, Work: hour / float64(times), Cores: 1})
		}
	}
	others := len(pods)
	for i := range late {
		pods = append(pods, sim.Pod{Created: 60 + float64(i)/10, Work: 10, Startup: 1})
	}
	r = run(t, sim.Config{Nodes: nodes, Node: node.Params{Cores: cores}, Scheduler: o, Seed: 1}, pods)
	var slow []float64
	for i, record := range r.Records {
		if i < others {
			slow = append(slow, (record.Done-record.Running)/(r.Pods[i].Solo()))
			continue
		}
		waits = append(waits, record.Bound-r.Pods[i].Created)
	}
	slices.Sort(slow)
	return waits, slow[int(math.Ceil(.99*float64(len(slow))))-1], r
}

// Nodes that others keep full take the pods nevertheless, one at a time each, and existing pods
// hardly notice.
func TestNobodyWaitsForEver(t *testing.T) {
	cases := []struct{ times, cores int }{{2, 4}, {1, 4}, {2, 16}}
	if testing.Short() {
		cases = cases[:1]
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("load=%d/cores=%d", c.times, c.cores), func(t *testing.T) {
			waits, slowdown, r := busyHour(t, c.times, c.cores, sim.Spazio{}, 1)
			if longest := slices.Max(waits); longest > 660 {
				t.Errorf("a pod waited for %g s", longest)
			}
			if most := c.times*c.cores + 1; r.Most > most {
				t.Errorf("%d pods ran at once, of which %d are the node's own", r.Most, most-1)
			}
			_, alone, _ := busyHour(t, c.times, c.cores, sim.Spazio{}, 0)
			if bound := 1.05 * (1 + 1/float64(c.cores)) * alone; slowdown > bound {
				t.Errorf("the others' p99 slowdown is %g, want at most %g", slowdown, bound)
			}
		})
	}
}

func TestWaitsForRoom(t *testing.T) {
	for _, test := range []struct {
		rule        reserve.OverdueAdmission
		least, most float64
	}{
		{reserve.OverdueAdmission{MaxWait: time.Minute}, 60, 61},
		{reserve.OverdueAdmission{Off: true}, 3000, 3600}, // until the load ends
	} {
		waits, _, _ := busyHour(t, 2, 4, sim.Spazio{Overdue: test.rule}, 1)
		if shortest, longest := slices.Min(waits), slices.Max(waits); shortest < test.least || longest > test.most {
			t.Errorf("%+v: waits of %g to %g s, want %g to %g", test.rule, shortest, longest, test.least, test.most)
		}
	}
	// With more pods than nodes, the pods take turns.
	waits, _, r := busyHour(t, 2, 4, sim.Spazio{Overdue: reserve.OverdueAdmission{MaxWait: time.Minute}}, 3)
	if longest := slices.Max(waits); longest < 90 || longest > 300 || r.Most != 9 {
		t.Errorf("three pods a node: waits of up to %g s, %d pods at once", longest, r.Most)
	}
}

// Where memory is full, a pod continues to wait.
func TestFullMemoryTakesNoOverduePod(t *testing.T) {
	const gib = 1 << 30
	var pods []sim.Pod
	for node := range 2 {
		for range 8 {
			p := sim.Pod{On: node + 1, Work: 300, Cores: 1, Memory: gib}
			if node == 0 {
				p.Memory = 1.85 * gib // of 16, of which the system has a part
			}
			pods = append(pods, p)
		}
	}
	for i := range 4 {
		pods = append(pods, sim.Pod{Created: 60 + float64(i), Work: 10, Startup: 1, Memory: gib / 8})
	}
	r := run(t, sim.Config{Nodes: 2, Scheduler: sim.Spazio{Overdue: reserve.OverdueAdmission{MaxWait: time.Minute}}, Seed: 1}, pods)
	for i, record := range r.Records[16:] {
		if record.Node != 1 || record.Bound > 400 {
			t.Errorf("pod %d went to node %d after %g s", i, record.Node, record.Bound-r.Pods[16+i].Created)
		}
	}
}

func TestOverdueIsValidated(t *testing.T) {
	if err := (sim.Spazio{Overdue: reserve.OverdueAdmission{MaxWait: -1}}).Validate(); !errors.Is(err, reserve.ErrInvalid) {
		t.Errorf("a negative MaxWait: %v", err)
	}
}
