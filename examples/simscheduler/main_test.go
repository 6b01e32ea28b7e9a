package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
)

// The scheduler is in the tables and in the report, beside those that are built in.
func TestRun(t *testing.T) {
	var out strings.Builder
	page := filepath.Join(t.TempDir(), "page.html")
	if err := run(t.Context(), &out, page); err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"tables": out.String(), "report": string(report)} {
		for _, want := range []string{"shortest-queue", "spazio", "default", "makespan", "sojourn_mean"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in the %s", want, name)
			}
		}
	}
}

// By hand: of six pods a node of 2 cores has two and one of 4 cores four, a pod a core.
func TestShortestQueue(t *testing.T) {
	pods := make([]sim.Pod, 6)
	for i := range pods {
		pods[i] = sim.Pod{Work: 20}
	}
	r, err := sim.Run(t.Context(), sim.Config{Sizes: []int{2, 4}, Scheduler: shortestQueue{}, Seed: 1}, pods)
	if err != nil {
		t.Fatal(err)
	}
	var on [2]int
	for _, record := range r.Records {
		on[record.Node]++
	}
	if on != [2]int{2, 4} {
		t.Errorf("%v pods on nodes of 2 and 4 cores", on)
	}
}
