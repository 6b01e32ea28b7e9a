package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

// childVariable makes the test binary the program.
const childVariable = "SPAZIO_CROWD_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		program.Main(command())
		return
	}
	os.Exit(m.Run())
}

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--runtimes", "pod"}, {"--runtimes", ""}, {"--loads", "nap"}, {"--at-once", "0"}, {"--at-once", "2,2"}, {"--tasks", "0"},
		{"--rounds", "1"}, {"--work", "1us"}, {"-o", "xml"}, {"word"},
		{"task", "spin"}, {"task", "nap", "1"}, {"task", "spin", "0"}, {"task", "spin", "-1s"},
	} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Usage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, stderr %q", args, code, &stderr)
		}
	}
}

// Real children: each does the same work, and all of it is counted.
func TestChildren(t *testing.T) {
	t.Setenv(childVariable, "1")
	var stdout, stderr bytes.Buffer
	args := []string{"--runtimes", "child", "--loads", "spin,memory", "--at-once", "1,3", "--tasks", "3", "--rounds", "2", "--work", "20ms", "-o", "json"}
	if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.OK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var r report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(stderr.String(), "at once, round"); len(r.Batches) != 8 || n != 8 {
		t.Fatalf("%d batches, %d lines of progress", len(r.Batches), n)
	}
	type kind struct {
		load          string
		atOnce, round int
	}
	seen := map[kind]int{}
	for _, b := range r.Batches {
		seen[kind{b.Load, b.AtOnce, b.Round}]++
		// The work took some CPU time, and the batch no less than its share of all cores.
		if b.Work <= 0 || b.Start <= 0 || b.Seconds <= 0 || b.Switches < 0 {
			t.Errorf("%+v", b)
		}
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%+v ran %d times", key, n)
		}
	}
}

// A task counts its steps, and ends where it is said to.
func TestPerform(t *testing.T) {
	for _, l := range loads {
		enough, err := until("7")
		if err != nil {
			t.Fatal(err)
		}
		if d, err := perform(l, enough); err != nil || d.Steps != 7 {
			t.Errorf("%s: %+v, %v", l.name, d, err)
		}
	}
	enough, err := until("5ms")
	if err != nil {
		t.Fatal(err)
	}
	// What the process has taken before does not count.
	if d, err := perform(loads[0], enough); err != nil || d.Steps == 0 || d.CPU < (5*time.Millisecond).Seconds() {
		t.Errorf("%+v, %v", d, err)
	}
}

// The walk comes through every cache line before it comes back.
func TestCycle(t *testing.T) {
	next := cycle(1 << 16)
	seen := map[uint32]bool{}
	for at := uint32(0); !seen[at]; at = next[at] {
		seen[at] = true
	}
	if len(seen) != 1<<16/64 {
		t.Errorf("%d lines of %d", len(seen), 1<<16/64)
	}
}

func TestTable(t *testing.T) {
	r := report{Tasks: 4, AtOnce: []int{2, 8}}
	for round := range 3 {
		r.Batches = append(r.Batches,
			batch{Runtime: "child", Load: "spin", AtOnce: 2, Round: round, Seconds: 10 * float64(round+1), Work: .25, Besides: .01, Start: .002, Switches: 5},
			batch{Runtime: "child", Load: "spin", AtOnce: 8, Round: round, Seconds: 12 * float64(round+1), Work: .5, Besides: .02, Start: .004, Switches: 50})
	}
	var out bytes.Buffer
	if err := r.write(&out, "table"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{"child", "spin", "8", "24.00", "1.200", "(1.200–1.200)", "500.0", "2.000", "(2.000–2.000)", "20.0", "4", "50"}
	if diff := cmp.Diff(want, strings.Fields(lines[len(lines)-1])); diff != "" {
		t.Error(diff)
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
