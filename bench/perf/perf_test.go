package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--workload", "Nothing"}, {"--nodes", "0"}, {"--pods", "1"}, {"--percentage", "101"}, {"--pairs", "1"}, {"--width", "NaN"}, {"-o", "xml"}, {"word"},
	} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Usage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, stderr %q", args, code, &stderr)
		}
	}
}

// Two pairs, in both of which the plugin makes everything take twice the time.
func TestOutput(t *testing.T) {
	off := result{Pods: 11, Seconds: 1, Process: 4, Scheduler: 1, Server: 0, Beside: .1}
	on := result{Pods: 11, Seconds: 2, Process: 8, Scheduler: 2, Server: 1, Beside: .1}
	c, err := newComparison(workload{Name: "SchedulingBasic", Nodes: 100, Init: 20, Pods: 11}, "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.on, c.off = []result{on, on}, []result{off, off}
	var text, table bytes.Buffer
	if err := c.write(&text, "json"); err != nil {
		t.Fatal(err)
	}
	var o outcome
	if err := json.Unmarshal(text.Bytes(), &o); err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	want := []namedRatio{
		{"throughput", .5, .5, .5}, {"CPU/pod, process", 2, 2, 2}, {"CPU/pod, scheduler", 2, 2, 2}, {"the same without the server", 1, 1, 1},
	}
	if o.Workload != c.workload || len(o.On) != 2 || o.On[1] != on || o.Off[0] != off || len(o.Ratios) != len(want) {
		t.Fatalf("%+v", o)
	}
	for i, r := range o.Ratios {
		if r != want[i] {
			t.Errorf("%+v, want %+v", r, want[i])
		}
	}
	if err := c.write(&table, "table"); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"SchedulingBasic, 100 nodes, 20 + 11 pods", "2 pairs", "0.500 (0.500 to 0.500)"} {
		if !strings.Contains(table.String(), part) {
			t.Errorf("no %q in\n%s", part, &table)
		}
	}
}

// The pods before the measured ones are as many as upstream has.
func TestComplete(t *testing.T) {
	for name, want := range map[string]int{"SchedulingBasic": 200, "Unschedulable": 20, "PreemptionAsync": 4000} {
		w := workload{Name: name, Nodes: 1000, Init: -1, Pods: 2}
		if err := w.complete(); err != nil || w.Init != want {
			t.Errorf("%s: %d first pods, want %d; error %v", name, w.Init, want, err)
		}
	}
}
