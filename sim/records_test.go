package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
)

func TestPodTable(t *testing.T) {
	r := sim.Result{
		Pods: []sim.Pod{
			{Created: 1.5, Work: 4, Cores: 2, Threads: 3, Memory: 100, Workload: "a,b", Limit: baseline.Resources{CPU: .5}},
			{Work: 1},
		},
		Records: []sim.Record{
			{Node: 0, Bound: 2, Running: 3.25, Done: 5.5, Attempts: 2, Kills: 1, Evictions: 3},
			{Node: -1, Bound: -1, Running: -1, Done: -1, Attempts: 4},
		},
	}
	want := [][]string{
		{"pod", "owner", "created", "cores", "threads", "work", "memory", "request_cores", "request_memory", "node", "bound", "running", "done", "attempts", "kills", "evictions"},
		{"0", "a,b", "1.5", "2", "3", "4", "100", "0.5", "0", "0", "2", "3.25", "5.5", "2", "1", "3"},
		{"1", "", "0", "1", "0", "1", "0", "0", "0", "", "", "", "", "4", "0", "0"},
	}
	if diff := cmp.Diff(want, sim.PodTable(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
