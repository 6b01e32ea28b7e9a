package sim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// TestBurstsFindIdleNodes: short pods come at four times the rate, after minutes in which a few
// nodes were enough. These have learnt that pods end there before a report of it arrives, and let
// more in; the others have room as well. So the burst takes all nodes, and none of its pods waits
// for a core that is idle elsewhere.
func TestBurstsFindIdleNodes(t *testing.T) {
	const nodes, work, burst, end = 16, .125, 120., 240.
	for name, scheduler := range map[string]sim.Scheduler{"typical": sim.Spazio{}, "known": counting(sim.Profiles{Known: 1})} {
		rng := rand.New(rand.NewPCG(14, 9))
		var pods []sim.Pod
		for at := 0.; at < end; {
			rate := 4.
			if at >= burst {
				rate = 17
			}
			at += rng.ExpFloat64() / rate
			pods = append(pods, sim.Pod{Created: at, Work: work, Workload: "function", Startup: node.StartupLatency(rng)})
		}
		r := run(t, sim.Config{Nodes: nodes, Scheduler: scheduler, Seed: 14}, pods)
		used, slow, n := map[int]bool{}, 0., 0.
		for i, record := range r.Records {
			if p := r.Pods[i]; p.Created > burst+30 {
				used[record.Node] = true
				slow += (record.Done - record.Running) / work
				n++
			}
		}
		if len(used) < nodes || slow/n > 1.02 {
			t.Errorf("%s: the burst takes %d of %d nodes, where its pods run %.2f times as long as alone", name, len(used), nodes, slow/n)
		}
	}
}
