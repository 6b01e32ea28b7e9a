package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// TestBurstsFindIdleNodes: short pods come at four times the rate, after minutes in which a few
// nodes were enough. These have learnt that pods end there before a report arrives, and admit more;
// the others have room as well. So the burst must take all nodes, and none of its pods may wait for
// a core that is idle elsewhere.
func TestBurstsFindIdleNodes(t *testing.T) {
	const burst, end = 120., 240.
	for name, c := range map[string]struct {
		scheduler    sim.Scheduler
		nodes, cores int
		works        []float64 // in turn
	}{
		"typical":                 {sim.Spazio{}, 16, 4, []float64{.125}},
		"known":                   {counting(sim.Profiles{Known: 1}), 16, 4, []float64{.125}},
		"two kinds":               {sim.Spazio{}, 16, 4, []float64{.05, .2}},
		"two kinds on nodes of 8": {sim.Spazio{}, 8, 8, []float64{.05, .2}},
	} {
		rng := rand.New(rand.NewPCG(14, 9))
		var pods []sim.Pod
		for at := 0.; at < end; {
			rate := 4.
			if at >= burst {
				rate = 17
			}
			at += rng.ExpFloat64() / rate
			kind := len(pods) % len(c.works)
			pods = append(pods, sim.Pod{Created: at, Work: c.works[kind], Workload: fmt.Sprint(kind), Startup: node.StartupLatency(rng)})
		}
		r := run(t, sim.Config{Sizes: slices.Repeat([]int{c.cores}, c.nodes), Scheduler: c.scheduler, Seed: 14}, pods)
		used, slow, n := map[int]bool{}, 0., 0.
		for i, record := range r.Records {
			if p := r.Pods[i]; p.Created > burst+30 {
				used[record.Node] = true
				slow += (record.Done - record.Running) / p.Work
				n++
			}
		}
		if len(used) < c.nodes || slow/n > 1.02 {
			t.Errorf("%s: the burst takes %d of %d nodes, where its pods run %.2f times as long as alone", name, len(used), c.nodes, slow/n)
		}
	}
}
