package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// built is the path of the tests' agent.
var built string

var buildOnce = sync.OnceValues(func() (string, error) {
	return bench.Build(context.Background(), "", "spazio-agent", built, io.Discard)
})

func TestMain(m *testing.M) {
	children.Init(map[string]children.Role{bench.ExecRole: bench.Exec})
	var err error
	if built, err = os.MkdirTemp("", "spazio-footprint-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// canMeasure reports whether cgroups can be made here.
func canMeasure(t *testing.T) bool {
	t.Helper()
	dir := filepath.Join(t.TempDir(), fmt.Sprintf("spazio-footprint-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := newCgroups(cgroupRoot, dir)
	if err != nil {
		t.Log(err)
		return false
	}
	if err := g.close(); err != nil {
		t.Fatal(err)
	}
	return true
}

// measure runs the benchmark, whether or not this machine meets its bars, and returns its figures.
func measure(t *testing.T, args ...string) map[string]float64 {
	t.Helper()
	var f footprint
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.flags(flags)
	agent, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	if err := flags.Parse(append([]string{"--agent", agent, "--warm-up", "0s"}, args...)); err != nil {
		t.Fatal(err)
	}
	if err := f.validate(flags.Args()); err != nil {
		t.Fatal(err)
	}
	g, err := children.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var r bench.Result
	if err := f.measure(t.Context(), &r, g, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, top := range []string{"", "cpu", "memory", "unified"} {
		if _, err := os.Stat(filepath.Join(cgroupRoot, top, filepath.Base(g.Dir()))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("cgroups are left behind: %v", err)
		}
	}
	found := map[string]float64{}
	for _, row := range r.Rows {
		found[row.What] = row.Value
	}
	return found
}

// TestRun: an agent is measured, and nothing is left behind.
func TestRun(t *testing.T) {
	if !canMeasure(t) {
		return
	}
	found := measure(t, "--duration", "3s", "--pods", "4", "--rate", "4")
	if found[reports] == 0 || found["pods in the agent's last report"] == 0 || found["pods that ran in the end"] == 0 || found["spazio-agent"] <= 0 {
		t.Errorf("%v", found)
	}
	if mean := found["spazio-agent, RSS mean"]; !(mean > 1 && mean <= found["spazio-agent, RSS most"] && found["spazio-agent, RSS most"] <= found["spazio-agent, VmHWM"]) {
		t.Errorf("%v", found)
	}
	if _, there := found["without usage"]; there || found[powers] > 0 || found[windows] > 0 {
		t.Errorf("%v", found)
	}
}

// TestUsage: an agent that reads pods' usage counts them, and a profiler gets their windows.
func TestUsage(t *testing.T) {
	if !canMeasure(t) {
		return
	}
	found := measure(t, "--duration", "8s", "--pods", "4", "--rate", "2", "--usage")
	if found[windows] == 0 || found["pods in the agent's last report"] == 0 || found["without usage, RSS mean"] <= 1 {
		t.Errorf("%v", found)
	}
}

// TestEnergy: agents take turns, and those that measure energy report pods' energy.
func TestEnergy(t *testing.T) {
	if !canMeasure(t) {
		return
	}
	found := measure(t, "--duration", "12s", "--pods", "3", "--rate", "1", "--usage", "--energy", "--", "--energy-pods=1s")
	if found[powers] == 0 || found["without energy, RSS mean"] <= 1 || found["spazio-agent, RSS mean"] <= 1 {
		t.Errorf("%v", found)
	}
}

// TestCgroups: a pod has a process under the sandbox's name and another one, and everything is
// removed, whatever still runs.
func TestCgroups(t *testing.T) {
	dir := filepath.Join(t.TempDir(), fmt.Sprintf("spazio-footprint-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := newCgroups(cgroupRoot, dir)
	if err != nil {
		t.Log(err) // they cannot be made here
		return
	}
	defer g.close()
	const pod = "pod0a000000-0000-4000-8000-000000000001"
	names := func(container string) (names []string) {
		t.Helper()
		for _, dir := range g.dirs(pod, container) {
			var text []byte
			for len(text) == 0 { // it joins them itself
				var err error
				if text, err = os.ReadFile(filepath.Join(dir, "cgroup.procs")); err != nil {
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
	if _, err := os.Stat(g.dirs(pod, "b")[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the container's group: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(g.dirs(pod, "a")[0], "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join("/proc", strings.TrimSpace(string(text)))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process has not ended: %v", err)
	}
	for _, top := range g.tops {
		if _, err := os.Stat(top); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", top, err)
		}
	}
}

// TestNoCgroups: without the right to make cgroups, the error names that.
func TestNoCgroups(t *testing.T) {
	dir := t.TempDir()
	if _, err := newCgroups(filepath.Join(dir, "none"), dir); !errors.Is(err, errNoCgroups) {
		t.Errorf("error %v", err)
	}
}

// Of several turns the usage is the mean, and a maximum the largest.
func TestTell(t *testing.T) {
	with, without := newTally(), newTally()
	with.agent = []bench.Usage{{Cores: .004, MeanMiB: 20, MaxMiB: 21, PeakMiB: 23}, {Cores: .006, MeanMiB: 22, MaxMiB: 24, PeakMiB: 22}}
	without.agent = []bench.Usage{{Cores: .003}, {Cores: .002}}
	var r bench.Result
	with.report(&r, 5, without, "usage", 50)
	found, bars := map[string]float64{}, map[string]float64{}
	for _, row := range r.Rows {
		found[row.What] = row.Value
		if row.Bar != nil {
			bars[row.What] = row.Bar.Value
		}
	}
	for what, want := range map[string]float64{
		"spazio-agent": 5, "spazio-agent, RSS mean": 21, "spazio-agent, RSS most": 24, "spazio-agent, VmHWM": 23, "without usage": 2.5, "usage adds": 2.5,
	} {
		if got := found[what]; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	if bars["spazio-agent"] != 8 || bars["spazio-agent, RSS most"] != 25 || bars["usage adds"] != .5 {
		t.Errorf("bars %v", bars)
	}
	r = bench.Result{}
	with.report(&r, 1, without, "", 50)
	if r.Rows[0].Bar.Value != 4 {
		t.Errorf("the bar is %v, want 4", r.Rows[0].Bar)
	}
}

func TestRefuses(t *testing.T) {
	for _, tc := range []struct {
		line string
		code int
	}{
		{"--bogus", command.ExitUsage},
		{"--duration 0s", command.ExitUsage},
		{"--warm-up -1s", command.ExitUsage},
		{"--pods 0", command.ExitUsage},
		{"--rate NaN", command.ExitUsage},
		{"-o xml", command.ExitUsage},
		{"--agent /nonexistent/agent --pods 1", command.ExitFailure},
		{"--agent /bin/false --pods 1 -- --cpu-counter none", command.ExitFailure},
	} {
		var stdout, stderr bytes.Buffer
		var f footprint
		if code := command.Execute(t.Context(), bench.Command("footprint", "", f.flags, f.validate, f.measure), strings.Fields(tc.line), &stdout, &stderr); code != tc.code || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, want %d: %s", tc.line, code, tc.code, &stderr)
		}
	}
}
