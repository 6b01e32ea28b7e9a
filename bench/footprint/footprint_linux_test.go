package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/sim/report/table"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// TestRun: an agent is measured in either kind of cgroups, and nothing is left behind.
func TestRun(t *testing.T) {
	agent, err := program.Build(t.Context(), "spazio-agent", t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	for _, kind := range []string{groupsAuto, groupsMadeUp} {
		var stdout, stderr bytes.Buffer
		args := []string{
			"--agent", agent, "--node-exporter", "", "--duration", "3s", "--warm-up", "0s", "--pods", "4", "--rate", "4",
			"--cgroups", kind, "-o", "json",
		}
		if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.OK {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		var r result
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
			t.Fatalf("%v\n%s", err, &stdout)
		}
		if r.Seconds < 3 || r.Pods != 4 || r.Started == 0 || r.Ended == 0 || r.Reports == 0 || r.Counted == 0 || r.Exporter != nil {
			t.Errorf("result %+v", r)
		}
		if kind == groupsMadeUp && r.Cgroups != groupsMadeUp {
			t.Errorf("%s cgroups", r.Cgroups)
		}
		if a := r.Agent; !(a.MeanMiB > 1 && a.MeanMiB <= a.MaxMiB && a.Millicores >= 0) {
			t.Errorf("the agent takes %+v", a)
		}
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// TestKernelGroups: a pod of the kernel's cgroups has a process under the sandbox's name and
// another, and all that is made is removed, whatever still runs.
func TestKernelGroups(t *testing.T) {
	dir := filepath.Join(t.TempDir(), fmt.Sprintf("spazio-footprint-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := newKernelGroups(cgroupRoot, dir)
	if err != nil {
		t.Log(err) // they cannot be made here
		return
	}
	defer g.close()
	const pod = "pod0a000000-0000-4000-8000-000000000001"
	names := func(container string) (names []string) {
		t.Helper()
		for _, class := range g.classes {
			var text []byte
			for len(text) == 0 { // it joins them itself
				var err error
				if text, err = os.ReadFile(filepath.Join(class, pod, container, "cgroup.procs")); err != nil {
					t.Fatal(err)
				}
			}
			comm, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(text)), "comm"))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, strings.TrimSpace(string(comm)))
		}
		return slices.Compact(names)
	}
	err = errors.Join(g.makePod(pod), g.makeContainer(pod, "a"), g.start(pod, "a", true), g.makeContainer(pod, "b"), g.start(pod, "b", false))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := names("a"), names("b"); !slices.Equal(a, []string{"pause"}) || !slices.Equal(b, []string{"sh"}) {
		t.Errorf("processes %v and %v", a, b)
	}
	if err := g.end(pod, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(g.classes[0], pod, "b")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the container's group: %v", err)
	}
	running := g.running[pod+"/a"].cmd
	if err := g.close(); err != nil {
		t.Fatal(err)
	}
	if running.ProcessState == nil {
		t.Error("a process has not ended")
	}
	for _, own := range g.own {
		if _, err := os.Stat(own); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", own, err)
		}
	}
}

// TestNoKernelGroups: where none can be made, that is said.
func TestNoKernelGroups(t *testing.T) {
	dir := t.TempDir()
	if _, err := newKernelGroups(filepath.Join(dir, "none"), dir); !errors.Is(err, errNoCgroups) {
		t.Errorf("error %v", err)
	}
}

// TestUsage: an agent that reads what pods take counts them, and a profiler hears of it.
func TestUsage(t *testing.T) {
	if _, err := usageLinks("/sys/fs/cgroup"); err != nil {
		t.Log(err) // nothing to read here
		return
	}
	agent, err := program.Build(t.Context(), "spazio-agent", t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := []string{
		"--agent", agent, "--node-exporter", "", "--duration", "8s", "--warm-up", "0s", "--pods", "4", "--rate", "2", "--usage", "-o", "json",
	}
	if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.OK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var r result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if r.Windows == 0 || r.Counted == 0 || r.Seconds < 8 || r.WithoutUsage == nil || r.WithoutUsage.MeanMiB <= 1 || r.WithoutEnergy != nil {
		t.Errorf("result %+v", r)
	}
}

// TestEnergy: agents take turns, and those that measure energy report what pods take.
func TestEnergy(t *testing.T) {
	if _, err := usageLinks("/sys/fs/cgroup"); err != nil {
		t.Log(err) // nothing to read here
		return
	}
	agent, err := program.Build(t.Context(), "spazio-agent", t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := []string{
		"--agent", agent, "--node-exporter", "", "--duration", "12s", "--warm-up", "0s", "--pods", "3", "--rate", "1",
		"--usage", "--energy", "-o", "json", "--", "--energy-pods", "1s",
	}
	if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.OK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var r result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if r.Seconds < 12 || r.Powers == 0 || r.WithoutEnergy == nil || r.WithoutEnergy.MeanMiB <= 1 || r.Agent.MeanMiB <= 1 {
		t.Errorf("result %+v", r)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	r := result{
		Seconds: 300, Pods: 50, Rate: 5, Started: 1500, Ended: 1500, Reports: 3000, Heartbeats: 100, Pushes: 30, Counted: 50, Running: 50,
		Agent: usage{Millicores: 4.2}, WithoutUsage: &usage{Millicores: 3.1}, Exporter: &usage{Millicores: 11}, Scrapes: 300,
	}
	if err := r.write(&out, "table"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"300 s, 50 pods", "spazio-agent", "4.20", "bar", "8.00", "without usage", "3.10", "usage adds", "1.10", "node exporter, 300 scrapes", "11.00"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	for line := range strings.Lines(out.String()) {
		if text.Width(strings.TrimSuffix(line, "\n")) > table.Terminal {
			t.Errorf("too wide: %s", line)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
	}{
		{[]string{"--bogus"}, program.Usage},
		{[]string{"--duration", "0s"}, program.Usage},
		{[]string{"--warm-up", "-1s"}, program.Usage},
		{[]string{"--pods", "0"}, program.Usage},
		{[]string{"--rate", "NaN"}, program.Usage},
		{[]string{"--scrape-agent", "0s"}, program.Usage},
		{[]string{"-o", "xml"}, program.Usage},
		{[]string{"--cgroups", "none"}, program.Usage},
		{[]string{"--agent", "/nonexistent/agent", "--pods", "1"}, program.Failure},
		{[]string{"--agent", "/bin/false", "--pods", "1", "--", "--cpu-counter", "none"}, program.Failure},
	} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), tc.args, &stdout, &stderr); code != tc.code || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, want %d: %s", tc.args, code, tc.code, &stderr)
		}
	}
}
