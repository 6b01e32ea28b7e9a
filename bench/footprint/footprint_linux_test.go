package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/report/table"
	"github.com/spazio-scheduler/spazio/report/text"
)

// TestMain lets the test binary be the sandbox's process.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == pauseName {
		pause(os.Stdin)
		return
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	agent, err := program.Build(t.Context(), "spazio-agent", t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr bytes.Buffer
	args := []string{
		"--agent", agent, "--node-exporter", "", "--duration", "3s", "--warm-up", "0s", "--pods", "4", "--rate", "4",
		"-o", "json",
	}
	if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.OK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var r result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if r.Seconds < 3 || r.Pods != 4 || r.Started == 0 || r.Ended == 0 || r.Reports == 0 || r.Exporter != nil {
		t.Errorf("result %+v", r)
	}
	if a := r.Agent; !(a.MeanMiB > 1 && a.MeanMiB <= a.MaxMiB && a.Millicores >= 0) {
		t.Errorf("the agent takes %+v", a)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
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
		{[]string{"--agent", "/nonexistent/agent", "--pods", "1"}, program.Failure},
		{[]string{"--agent", "/bin/false", "--pods", "1", "--", "--cpu-counter", "none"}, program.Failure},
	} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), tc.args, &stdout, &stderr); code != tc.code || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, want %d: %s", tc.args, code, tc.code, &stderr)
		}
	}
}
