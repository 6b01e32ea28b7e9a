package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// TestMain lets the test binary be the pods.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "burn" {
		program.Main(command())
	}
	os.Exit(m.Run())
}

// TestRun: on whatever machine, however busy, the joules that the counters have shown are
// the truth. So few intervals show too little, which the check says once the result has
// been written.
func TestRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr bytes.Buffer
	args := []string{
		"--check", "--loads", "30", "--pods", "5", "--intervals", "3", "--read", "100ms", "--interval", "500ms", "--warm-up", "8s", "-o", "json",
	}
	if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Failure {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if !strings.Contains(stderr.String(), "intervals of pods show too little") {
		t.Error(&stderr)
	}
	var r result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if r.Pods != 5 || r.Interval != .5 || r.Cores < 2 || len(r.Loads) != 1 {
		t.Fatalf("result %+v", r)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	row := r.Loads[0]
	if row.Load != 30 || !(row.Truth > 0 && row.Reached > 0) {
		t.Errorf("row %+v", row)
	}
	if row.Refused > 0 { // a reading was too late, and its interval is none
		return
	}
	if row.Intervals != 15 || !(row.SD > 0 && row.PodError > 0 && row.Ratio > 0) {
		t.Errorf("row %+v", row)
	}
	if row.NodeError > barNode {
		t.Errorf("the node's joules are %v, in truth %v", row.Joules, row.Truth)
	}
}

// TestProcessesStayOnTheirPackage with all their threads, which have the CPUs that a process
// begins with; the reader has all of them again.
func TestProcessesStayOnTheirPackage(t *testing.T) {
	cpus, err := children.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	cores := max(len(cpus)/sockets, 1)
	all := consumers(4, cores)
	p, err := startProcesses(t.Context(), all, cores, cpus)
	defer p.stop()
	if err != nil {
		t.Fatal(err)
	}
	allowed := func(pid int) (has []int) {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &set); err != nil {
			t.Fatal(err)
		}
		for _, cpu := range cpus {
			if set.IsSet(cpu) {
				has = append(has, cpu)
			}
		}
		return has
	}
	for i, b := range p.burners {
		want := cpus[:cores]
		if all[i].socket == 1 {
			want = cpus[min(cores, len(cpus)-1):][:cores]
		}
		if got := allowed(b.cmd.Process.Pid); !slices.Equal(got, want) {
			t.Errorf("consumer %d of package %d may run on %v, want %v", i, all[i].socket, got, want)
		}
	}
	if got := allowed(0); !slices.Equal(got, cpus) {
		t.Errorf("the reader may run on %v, want %v", got, cpus)
	}
}

// A bar is missed by what is beyond it, and named.
func TestMissed(t *testing.T) {
	good := row{Load: 50, Reached: 48, NodeError: .5, PodError: 5, Intervals: 200, Inside: 180}
	if missed := (result{Loads: []row{good}}).missed(); len(missed) > 0 {
		t.Error(missed)
	}
	for part, change := range map[string]func(*row){
		"quiet":     func(r *row) { r.Reached = 44 },
		"node's":    func(r *row) { r.NodeError = .51 },
		"pod's":     func(r *row) { r.PodError = 5.1 },
		"inside":    func(r *row) { r.Inside = 179 },
		"too littl": func(r *row) { r.Intervals, r.Inside = 199, 199 },
		"NaN":       func(r *row) { r.NodeError = math.NaN() },
	} {
		bad := good
		change(&bad)
		if missed := (result{Loads: []row{good, bad}}).missed(); len(missed) != 1 || !strings.Contains(errors.Join(missed...).Error(), part) {
			t.Errorf("%s: %v", part, missed)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--loads", "0"}, {"--loads", "101"}, {"--pods", "1"}, {"--intervals", "0"}, {"--read", "2s"}, {"--read", "10ms"},
		{"--interval", "500ms"}, {"--warm-up", "-1s"}, {"--shape", "NaN"}, {"--noise", ".5"}, {"--runs", "0"}, {"--cores", "0"},
		{"--others", ".6"}, {"-o", "xml"}, {"word"}, {"burn"},
	} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Usage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, stderr %q", args, code, &stderr)
		}
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	r := result{Cores: 4, Pods: 16, Shape: 1.4, Interval: 5, Loads: []row{{Load: 100, Reached: 97, Joules: 123456.7, Truth: 123456.7, Intervals: 208, Inside: 199}}}
	if err := r.write(&out, "table"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"199 of 208", "123456.7", "90 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(line)); n > 121 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
