package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
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

// Two pods that each take a node: one waits, starts and runs.
func TestTimeline(t *testing.T) {
	pods := []sim.Pod{
		{Work: 4, Startup: 1, Memory: 3e9, Request: baseline.Resources{CPU: 4}},
		{Work: 4, Startup: 1, Request: baseline.Resources{CPU: 4}},
	}
	c := sim.Config{Nodes: 1, Node: node.Params{Background: 1e-9, Memory: 16e9}, Scheduler: sim.Default{}, Timeline: 2, Seed: 1}
	r := run(t, c, pods)
	var got [][3]int
	for _, m := range r.Timeline {
		got = append(got, [3]int{m.Waiting, m.Starting, m.Running})
	}
	// The first runs from a little after 1 to 5 s, the second from a little after 6 to 10.
	want := [][3]int{{2, 0, 0}, {1, 0, 1}, {1, 0, 1}, {0, 1, 0}, {0, 0, 1}, {0, 0, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waiting, starting, running (-want +got):\n%s", diff)
	}
	// A core from 2 to 4 s; the system's .05 of the memory and the pod's.
	if m := r.Timeline[2]; m.At != 4 || m.Busy < .99 || m.Busy > 1.01 || m.Memory != .8e9+3e9 {
		t.Errorf("%+v", m)
	}
}
