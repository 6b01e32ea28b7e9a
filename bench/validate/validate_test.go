package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/sim"
	simbatch "github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

// role makes the test binary stand for spazio-demo, which takes minutes to build;
// the demo's own tests hold it to the form.
const role = "SPAZIO_VALIDATE_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	if !slices.Contains(os.Args, "--records") {
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "the cluster is ready")
	b, o := outcomeOfTwo()
	b.Seed = 7
	spazios := o
	spazios.Profile = spazio
	if err := json.NewEncoder(os.Stdout).Encode(ran{Config: b, Batches: []outcome{spazios, o}}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// What the demo says is compared, and compared again from a file.
func TestRun(t *testing.T) {
	t.Setenv(role, "demo")
	saved := filepath.Join(t.TempDir(), "cluster.json.gz")
	var out, progress bytes.Buffer
	args := []string{"--demo", os.Args[0], "--nodes", "2", "--cores", "1", "--pods", "2", "--work", "2", "--seeds", "7", "--tolerance", "1e9", "--save", saved, "-o", "json"}
	if code := program.Run(t.Context(), command(), args, &out, &progress); code != program.OK {
		t.Fatalf("exit code %d: %s", code, &progress)
	}
	if !strings.Contains(progress.String(), "the cluster is ready") {
		t.Errorf("the demo's progress is lost: %q", &progress)
	}
	var got struct {
		Rows    []row  `json:"rows"`
		Summary []line `json:"summary"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, scheduler := range []string{spazio, defaultScheduler} {
		for _, metric := range []string{"useful_share", "run_mean", "makespan", "bind_mean", "most_bound", "attempts", "choosing"} {
			i := slices.IndexFunc(got.Rows, func(r row) bool { return r.Scheduler == scheduler && r.Metric == metric })
			if i < 0 || got.Rows[i].Seed != 7 || !(got.Rows[i].Cluster > 0 && got.Rows[i].Simulator > 0) {
				t.Errorf("%s of %s: %+v", metric, scheduler, got.Rows)
			}
		}
	}
	if len(got.Summary) != len(got.Rows) {
		t.Errorf("%d lines of %d rows with one seed", len(got.Summary), len(got.Rows))
	}

	var again bytes.Buffer
	if code := program.Run(t.Context(), command(), []string{"--from", saved, "--tolerance", "1e9", "-o", "json"}, &again, io.Discard); code != program.OK {
		t.Fatalf("from what was saved: exit code %d", code)
	}
	if diff := cmp.Diff(out.String(), again.String()); diff != "" {
		t.Errorf("from what was saved (-then +now):\n%s", diff)
	}
	// A demo that fails is not a comparison.
	if code := program.Run(t.Context(), command(), []string{"--demo", "/bin/false"}, &again, io.Discard); code != program.Failure {
		t.Errorf("without a cluster: exit code %d", code)
	}
}

// A batch of two pods that share a core for a while.
func outcomeOfTwo() (batch, outcome) {
	at := func(seconds float64) *float64 { return &seconds }
	return batch{Nodes: 2, Cores: 1, Pods: 2, Seed: 3}, outcome{
		Profile: defaultScheduler,
		Pods: []simbatch.Outcome{
			{Name: "a", Node: "x", Work: 2, Startup: 1, Memory: 1, Created: at(0), Bound: at(.1), Running: at(1.2), Done: at(4)},
			{Name: "b", Node: "x", Work: 2, Startup: 1, Memory: 1, Created: at(.5), Bound: at(4.2), Running: at(5.2), Done: at(7.2)},
		},
		Effort: effort{Attempts: 4, Bound: 2, Choosing: .02, Binding: .1},
	}
}

func TestMetrics(t *testing.T) {
	b, o := outcomeOfTwo()
	observed, err := observe(b, o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"useful_share": 4 / 14.4, "run_mean": 2.4, "run_p95": 2.8, "slowdown_p99": 1.4, "makespan": 7.2, "sojourn_mean": 5.35, "sojourn_p99": 6.7,
		"bind_mean": 1.9, "bind_gap": 4.1, "start_extra": .05, "turnaround": .2, "most_bound": 1,
		"attempts": 2, "choosing": .005, "binding": .05,
	}
	got := map[string]float64{}
	for _, m := range append(metrics(observed), o.Effort.metrics(2)...) {
		got[m.Name] = m.Value
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, spoil := range map[string]func(*simbatch.Outcome){
		"failed": func(p *simbatch.Outcome) { p.Failed = true }, "not done": func(p *simbatch.Outcome) { p.Done = nil },
		"start not seen": func(p *simbatch.Outcome) { p.Running = nil },
	} {
		_, o := outcomeOfTwo()
		spoil(&o.Pods[1])
		if _, err := observe(b, o); err == nil {
			t.Errorf("a pod that is %s is no part of a comparison", name)
		}
	}
}

func TestCompareGivesTheSimulatorTheBatch(t *testing.T) {
	b, o := outcomeOfTwo()
	rows, err := compare(t.Context(), b, sim.Config{KubeletRate: unlimited}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		// Each has a node of its own, after a second.
		if r.Metric == "run_mean" && math.Abs(r.Simulator-2) > .1 {
			t.Errorf("run time %g s in the simulator", r.Simulator)
		}
		if r.Seed != 3 || r.Scheduler != defaultScheduler {
			t.Errorf("%+v", r)
		}
	}
}

func TestSummarise(t *testing.T) {
	rows := []row{
		{"spazio", 1, "useful_share", "1", .8, .4}, {"spazio", 2, "useful_share", "1", .4, .8},
		{"spazio", 1, "makespan", "s", 10, 20}, {"spazio", 2, "makespan", "s", 10, 20},
	}
	lines := summarise(rows, .1)
	if len(lines) != 2 || !lines[0].Judged || !lines[0].Agrees || math.Abs(lines[0].Ratio-1) > 1e-9 || lines[0].Low == nil {
		t.Errorf("useful share: %+v", lines)
	}
	if lines[1].Judged || lines[1].Agrees || math.Abs(lines[1].Ratio-2) > 1e-9 || lines[1].Simulator != 20 {
		t.Errorf("makespan: %+v", lines[1])
	}
	if err := verdict(lines); err != nil {
		t.Error(err)
	}
	if err := verdict(summarise(rows[:1], .1)); err == nil {
		t.Error("half of the useful share agrees")
	}
}

func TestOutput(t *testing.T) {
	rows := []row{{"spazio", 1, "useful_share", "1", .8, .84}}
	var table, text bytes.Buffer
	if err := write(&table, "table", rows, summarise(rows, .1)); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(table.String(), "\n")
	want := []string{"spazio", "useful_share", "1", "0.8", "0.84", "1.050", "-", "agrees"}
	if diff := cmp.Diff(want, strings.Fields(body)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if err := write(&text, "csv", rows, nil); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&text).ReadAll()
	if diff := cmp.Diff([]string{"spazio", "1", "useful_share", "1", "0.8", "0.84"}, records[1]); diff != "" || err != nil {
		t.Errorf("CSV (-want +got): %s, error %v", diff, err)
	}
}

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"-o", "xml"}, {"--seeds", "one"}, {"--tolerance", "0"}, {"--pods", "-1"}, {"--nodes", "0"}, {"--cores", "0"}, {"--work", "0"}, {"--rate", "NaN"}, {"--burst", "17"}, {"--burst", "-1", "--rate", "1"}, {"--burst-after", "-1"}, {"--burst-after", "60", "--rate", "1"},
		{"--law", "cauchy"}, {"--latency", "-1"}, {"more"},
	} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Usage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%v: exit code %d, stderr %q", args, code, &stderr)
		}
	}
	if _, err := load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: error %v", err)
	}
}
