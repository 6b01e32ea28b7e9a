package experiment_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Four pods fill one of two nodes. Each scheduler of the experiment on relief evicts when its rule does.
func TestWhoEvicts(t *testing.T) {
	for name, want := range map[string][]float64{
		"spazio-no-relief": nil, "low-node-load": {415, 415}, "low-node-utilization": {295},
	} {
		scheduler, err := experiment.SchedulerOf(name, experiment.Params{})
		if err != nil {
			t.Fatal(err)
		}
		pods := make([]sim.Pod, 4)
		for i := range pods {
			pods[i] = sim.Pod{On: 1, Work: 1800, Evictable: i < 2}
		}
		r, err := sim.Run(t.Context(), sim.Config{Nodes: 2, Node: node.Params{Cores: 4}, Scheduler: scheduler, Seed: 1, Horizon: 1000}, pods)
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, d := range r.Disruptions {
			got = append(got, d.At)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
