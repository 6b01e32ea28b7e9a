package main

import (
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"default ", "threshold ", "spazio ", "makespan"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// The scheduler does what it says: no node that is busy takes a pod.
func TestThreshold(t *testing.T) {
	pods := make([]sim.Pod, 60)
	for i := range pods {
		pods[i] = sim.Pod{Work: 20}
	}
	r, err := sim.Run(t.Context(), sim.Config{Nodes: 2, Scheduler: Threshold{.9}, Seed: 1}, pods)
	if err != nil {
		t.Fatal(err)
	}
	if r.Most > 6 {
		t.Errorf("%d pods at once on 4 cores", r.Most)
	}
}
