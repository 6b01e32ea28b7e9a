//go:build realnode && linux

package realnode

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// simulated returns the simulator's result for a pair: one node with this machine's cores and only the
// pods, which arrive at once. If the kernel has pressure information, the result has the share of the
// time in which some thread waited.
func simulated(t *testing.T, k kind) pair {
	t.Helper()
	latencies := rand.New(rand.NewPCG(1, 0))
	pods := make([]sim.Pod, k.pods)
	for i := range pods {
		pods[i] = sim.Pod{Work: float64(k.seconds), Startup: simnode.StartupLatency(latencies).Seconds()}
	}
	run := func(name string, s sim.Scheduler) batch {
		r, err := sim.Run(t.Context(), sim.Config{Nodes: 1, Node: simnode.Params{Cores: runtime.NumCPU()}, Scheduler: s, Seed: 1}, pods)
		if err != nil {
			t.Fatal(err)
		}
		return ofSimulation(name, r)
	}
	return pair{
		Kind:    k.String(),
		Default: run("simulated default", sim.Default{}),
		Spazio:  run("simulated spazio", sim.Spazio{}),
	}
}

// ofSimulation converts a simulation of pods that arrive at 0 to a batch.
func ofSimulation(name string, r sim.Result) batch {
	b := batch{Scheduler: name, Pods: len(r.Pods), Makespan: r.End, Pressure: r.Waited / r.End, Busy: r.Busy / r.End / r.Cores}
	var runs, lives []interval[float64]
	for i, p := range r.Records {
		runs, lives = append(runs, interval[float64]{p.Running, p.Done}), append(lives, interval[float64]{p.Bound, p.Done})
		b.CPU += r.Pods[i].Work
		b.Run += p.Done - p.Running
		b.Sojourn += p.Done
		b.Queue += p.Bound
		b.Startup += p.Running - p.Bound
	}
	b.perPod(len(r.Records))
	b.AtOnce, b.Bound = atMost(runs, cmp.Compare), atMost(lives, cmp.Compare)
	return b
}
