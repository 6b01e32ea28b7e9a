package experiment_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

func cases(t testing.TB, name string, p experiment.Params, s experiment.Sweep) []experiment.Case {
	t.Helper()
	e, err := experiment.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := e.Cases(p, s)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestCases(t *testing.T) {
	var got []string
	for _, c := range cases(t, "b1", experiment.Params{Nodes: 3}, experiment.Sweep{Work: []float64{.5, 10}}) {
		got = append(got, c.Label)
	}
	want := []string{
		"batch/work=0.5/law=equal", "batch/work=0.5/law=exponential",
		"batch/work=10/law=equal", "batch/work=10/law=exponential",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// traces are those of the experiments that need one.
var traces = map[string]fstest.MapFS{
	"background": {"a.csv": {Data: []byte("timestamp,value\n0,20\n300,80\n600,10\n900,15\n")}},
	"functions": {
		"invocations.csv": {Data: []byte("HashOwner,HashApp,HashFunction,1,2\no,a,f,60,30\no,a,g,1,60\n")},
		"durations.csv":   {Data: []byte("HashOwner,HashApp,HashFunction,percentile_Average_50\no,a,f,500\no,a,g,900\n")},
		"memory.csv":      {Data: []byte("HashOwner,HashApp,HashFunction,AverageAllocatedMb_pct50\no,a,f,50\no,a,g,70\n")},
	},
}

// Every experiment runs under every scheduler on a small scale, and has the same result to the last
// bit with any number of processors and workers. Short runs test every third, one seed and a few
// pods, with eight workers only.
func TestEveryExperiment(t *testing.T) {
	findings, err := experiment.ByGroup(experiment.Findings)
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := experiment.ByGroup(experiment.Profiles)
	if err != nil {
		t.Fatal(err)
	}
	energies, err := experiment.ByGroup(experiment.Energy)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range slices.Concat(experiment.Experiments(), profiles, energies, findings) {
		if testing.Short() && i%3 != 0 {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			p := experiment.Params{Nodes: 3, Pods: 20, Duration: 60}
			if testing.Short() {
				p.Nodes, p.Pods = 2, 6
			}
			if trace, ok := traces[e.Name]; ok {
				p.Trace = trace
			}
			small := cases(t, e.Name, p, experiment.Sweep{Work: []float64{2}, Load: []float64{.4}})
			o, few, many := experiment.Options{Seeds: []uint64{1, 2}}, 1, []int{2, 8}
			if testing.Short() {
				o.Seeds, few, many = o.Seeds[:1], 8, nil
			}
			for _, s := range experiment.Schedulers() {
				if strings.HasPrefix(s.Name, "low-node-") || s.Name == "spazio-no-relief" {
					continue // they are run in relief
				}
				if s.Name == experiment.Default || !slices.Contains(experiment.EnergyField(), s.Name) || s.Name == experiment.Spazio {
					o.Schedulers = append(o.Schedulers, s.Name)
				}
			}
			if strings.HasPrefix(e.Name, "finding") || strings.HasPrefix(e.Name, "profiles-") || strings.HasPrefix(e.Name, "energy-") || e.Name == "relief" { // under its own
				o.Schedulers = nil
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
			one := runWith(t, small, o, few)
			for _, workers := range many {
				if rows := runWith(t, small, o, workers); !bytes.Equal(encoded(t, one), encoded(t, rows)) {
					t.Errorf("%d workers change the rows:\n%s", workers, cmp.Diff(one, rows))
				}
			}
			for _, r := range one {
				starves := r.Metric == "unfinished" && r.Value > 0 && !starving(e.Name, r.Scheduler)
				if starves || math.IsNaN(r.Value) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// starving holds schedulers that leave pods waiting in an experiment by design.
func starving(name, scheduler string) bool {
	switch {
	case strings.HasPrefix(scheduler, "source"):
		return true // the thesis's algorithm may lock nodes out for good
	case name == "traces":
		// A plan of 3.5 cores is predicted to take 74 % of an empty node's 4, which exceeds the
		// limit of 65 %.
		return scheduler == "load-aware"
	case name == "services":
		// The run ends a minute after the day. Beside the services there is until then too little room within
		// 65 % of a node, within what is left of 60 % for pods of a core each, for requests of three cores, and
		// behind the first of a queue that waits for a quota of which draining replicas still hold a part.
		return slices.Contains([]string{"load-aware", "batch-resources", "requests-wrong", "kueue"}, scheduler)
	}
	return false
}

// runWith runs cases on as many processors as workers.
func runWith(t *testing.T, cases []experiment.Case, o experiment.Options, workers int) []experiment.Row {
	t.Helper()
	runtime.GOMAXPROCS(workers)
	o.Workers = workers
	rows, err := experiment.Run(t.Context(), cases, o)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func encoded(t *testing.T, rows []experiment.Row) []byte {
	t.Helper()
	b, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRunRefuses(t *testing.T) {
	b1 := cases(t, "b1", experiment.Params{Nodes: 1, Pods: 2}, experiment.Sweep{Work: []float64{1}})
	var name *experiment.NameError
	if _, err := experiment.Run(t.Context(), b1, experiment.Options{Schedulers: []string{"dice"}, Seeds: []uint64{1}}); !errors.As(err, &name) {
		t.Errorf("no such scheduler: error %v", err)
	}
	if _, err := experiment.ByName("b9"); !errors.As(err, &name) {
		t.Errorf("no such experiment: error %v", err)
	}
	h1, err := experiment.ByName("H1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h1.Cases(experiment.Params{}, experiment.Sweep{}); !errors.Is(err, experiment.ErrNoTrace) {
		t.Errorf("no trace: error %v", err)
	}
	bad := cases(t, "b1", experiment.Params{Nodes: 1}, experiment.Sweep{Work: []float64{-1}})
	var which *field.Error
	if _, err := experiment.Run(t.Context(), bad, experiment.Options{Seeds: []uint64{1}}); !errors.As(err, &which) {
		t.Errorf("negative work: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := experiment.Run(ctx, b1, experiment.Options{Seeds: []uint64{1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func rows(metric string, values map[string][]float64) []experiment.Row {
	var rows []experiment.Row
	for _, scheduler := range []string{"default", "spazio", "central-queue"} {
		for i, v := range values[scheduler] {
			rows = append(rows, experiment.Row{
				Experiment: "e", Scheduler: scheduler, Seed: uint64(i), Metric: metric, Value: v, Unit: "s",
			})
		}
	}
	return rows
}

func TestSummaries(t *testing.T) {
	data := rows("run_mean", map[string][]float64{"default": {10, 20, 30}, "spazio": {5, 20, 60}})
	approx := cmpopts.EquateApprox(0, 1e-3)
	// Mean 20, deviation 10, t of two degrees of freedom 4.3027: ± 4.3027·10/√3.
	want := experiment.Interval{Mean: 20, Low: -4.8415, High: 44.8415, N: 3}
	if diff := cmp.Diff(want, experiment.Summarise(data)[0].Interval, approx); diff != "" {
		t.Errorf("mean (-want +got):\n%s", diff)
	}
	// The logarithms of ½, 1 and 2 have mean 0 and deviation ln 2.
	half := math.Exp(4.30265 * math.Ln2 / math.Sqrt(3))
	ratios := experiment.Ratios(data, "default")
	i := slices.IndexFunc(ratios, func(l experiment.Line) bool { return l.Scheduler == "spazio" })
	want = experiment.Interval{Mean: 1, Low: 1 / half, High: half, N: 3}
	if diff := cmp.Diff(want, ratios[i].Interval, approx); diff != "" {
		t.Errorf("ratio (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{.5, 1, 2}, ratios[i].Values, approx); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
}

// A sojourn or a makespan is a lower bound where the horizon cut off pods, and a total slowdown where Jobs
// gave up, too; a ratio is one on the side where that is so, and no target holds by what is not known.
func TestBounds(t *testing.T) {
	for _, test := range []struct {
		metric, cut          string
		own, base            float64 // pods that were cut
		mean, ratio, ratioTo string
	}{
		{"sojourn_mean", "unfinished", 0, 0, "", "", ""},
		{"sojourn_mean", "unfinished", 2, 0, "≥", "≥", "≤"},
		{"makespan", "unfinished", 2, 1, "≥", "≈", "≈"},
		{"run_mean", "unfinished", 2, 1, "", "", ""},
		{"sojourn_mean", "gave_up", 2, 1, "", "", ""},
		{"total_slowdown_p99", "gave_up", 0, 1, "", "≤", "≥"},
		{"edp", "unfinished", 2, 0, "≥", "≥", "≤"},
	} {
		data := slices.Concat(
			rows(test.metric, map[string][]float64{"spazio": {5, 6}, "default": {7, 8}}),
			rows(test.cut, map[string][]float64{"spazio": {0, test.own}, "default": {test.base, 0}}),
		)
		bound := func(lines []experiment.Line, scheduler string) string {
			i := slices.IndexFunc(lines, func(l experiment.Line) bool { return l.Scheduler == scheduler && l.Metric == test.metric })
			return lines[i].Bound
		}
		got := []string{
			bound(experiment.Summarise(data), "spazio"), bound(experiment.Ratios(data, "default"), "spazio"), bound(experiment.Ratios(data, "spazio"), "default"),
		}
		if want := []string{test.mean, test.ratio, test.ratioTo}; !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", test, got, want)
		}
	}
	traces := cases(t, "traces", experiment.Params{Nodes: 1}, experiment.Sweep{})[:1]
	data := slices.Concat(rows("sojourn_mean", map[string][]float64{"spazio": {5, 6}, "default": {7, 8}}), rows("unfinished", map[string][]float64{"spazio": {1, 0}, "default": {0, 0}}))
	for _, holds := range []bool{false, true} {
		for i := range data {
			if data[i].Experiment = traces[0].Label; holds {
				data[i].Value = max(data[i].Value, 1) - 1 // none is cut off
			}
		}
		verdicts := experiment.Judge(traces, data, experiment.Spazio)
		if len(verdicts) != 1 || verdicts[0].Holds != holds {
			t.Errorf("with pods cut off %v: %+v", !holds, verdicts)
		}
	}
}

// What pods that did not end leave open neither holds nor has a p-value, and no lower bound is better than an
// exact figure: of a Spazio that takes half of the default's time, or thrice.
func TestOpenByUnended(t *testing.T) {
	batch := cases(t, "finding-1-batch", experiment.Params{}, experiment.Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}})[:1]
	memory := cases(t, "memory", experiment.Params{Nodes: 1, Pods: 2}, experiment.Sweep{Law: []workload.Law{workload.Equal}})[:1]
	for _, test := range []struct {
		spazio           []float64
		ownCut, otherCut float64
		best             string
		holds, isTested  bool
		losses           []string
	}{
		{[]float64{50, 51}, 0, 0, "0.51", true, true, nil},
		{[]float64{50, 51}, 0, 1, "≤0.51", true, true, nil},
		{[]float64{50, 51}, 1, 0, "≥0.51", false, false, nil},
		{[]float64{50, 51}, 1, 1, "≈0.51", false, false, nil},
		{[]float64{300, 310}, 0, 0, "3.05", false, true, []string{"default 3.05"}},
		{[]float64{300, 310}, 0, 1, "≤3.05", false, false, []string{"low-risk 1.52"}},
		{[]float64{300, 310}, 1, 0, "≥3.05", false, true, []string{"default ≥3.05"}},
		{[]float64{300, 310}, 1, 1, "≈3.05", false, false, []string{"default ≈3.05"}},
	} {
		data := func(label, metric string) (rows []experiment.Row) {
			for scheduler, values := range map[string][]float64{"spazio": test.spazio, "source": test.spazio, "default": {100, 100}, "low-risk": {200, 200}} {
				for seed, v := range values {
					cut := map[string]float64{"spazio": test.ownCut, "source": test.ownCut, "default": test.otherCut}[scheduler]
					rows = append(rows, experiment.Row{Experiment: label, Scheduler: scheduler, Seed: uint64(seed), Metric: metric, Value: v},
						experiment.Row{Experiment: label, Scheduler: scheduler, Seed: uint64(seed), Metric: "unfinished", Value: cut})
				}
			}
			return rows
		}
		i, _ := experiment.Best(experiment.Summarise(data("e", "makespan")), "e", "makespan", experiment.Spazio, func(peer string) bool { return peer == experiment.Default })
		if got := fmt.Sprintf("%s%.2f", i.Bound, i.Mean); got != test.best {
			t.Errorf("%+v: to the best %s", test, got)
		}
		var losses []string
		for _, l := range experiment.Losses(memory, data(memory[0].Label, "sojourn_mean"), experiment.Spazio) {
			losses = append(losses, fmt.Sprintf("%s %s%.2f", l.Other, l.Ratio.Bound, l.Ratio.Mean))
		}
		if diff := cmp.Diff(test.losses, losses); diff != "" {
			t.Errorf("%+v: losses (-want +got):\n%s", test, diff)
		}
		for _, h := range experiment.Headlines(memory, data(memory[0].Label, "sojourn_mean")) {
			if h.Metric == "sojourn_mean" && h.Other == experiment.Default && math.IsNaN(h.P) == test.isTested {
				t.Errorf("%+v: p is %g", test, h.P)
			}
		}
		for _, v := range experiment.JudgeFindings(batch, data(batch[0].Label, "makespan")) {
			if v.Holds != test.holds {
				t.Errorf("%+v: %+v", test, v)
			}
		}
	}
}

// Without a logarithm there is the ratio of the means.
func TestRatiosOfNothing(t *testing.T) {
	tests := []struct {
		name         string
		base, values []float64
		want         float64
	}{
		{"none of any", []float64{0, 0}, []float64{0, 0}, 1},
		{"none of some", []float64{4, 4}, []float64{0, 2}, .25},
		{"some of none", []float64{0, 0}, []float64{0, 2}, math.Inf(1)},
	}
	for _, test := range tests {
		lines := experiment.Ratios(rows("memory_overload", map[string][]float64{"default": test.base, "spazio": test.values}), "default")
		if got := lines[1].Mean; got != test.want {
			t.Errorf("%s: %g, want %g", test.name, got, test.want)
		}
	}
}

func TestJudge(t *testing.T) {
	type values map[string]map[string][]float64
	tests := []struct {
		name   string
		cases  []experiment.Case
		values values
		want   map[string]string
	}{
		{
			"a batch on small nodes",
			cases(t, "b1", experiment.Params{}, experiment.Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}, Fleet: []string{"80x4"}}),
			values{
				"run_mean":     {"default": {100, 100}, "spazio": {11, 11}},
				"sojourn_mean": {"default": {100, 100}, "spazio": {80, 80}, "requests-right": {80, 80}, "central-queue": {70, 70}},
				"useful_share": {"default": {.9, .9}, "spazio": {.8, .8}},
				"makespan":     {"requests-right": {50, 50}, "spazio": {49, 49}},
			},
			map[string]string{
				"run_mean/default ≤ 0.12":            "0.11 true",
				"sojourn_mean/default ≤ 0.6":         "0.80 false",
				"sojourn_mean/default ≤ 1":           "0.80 true",
				"sojourn_mean/requests-right ≤ 1.02": "1.00 true",
				"makespan/requests-right ≤ 1":        "0.98 true",
				"useful_share/default ≥ 0.97":        "0.89 false",
			},
		},
		{
			"of unlike sizes on large nodes",
			cases(t, "b1", experiment.Params{}, experiment.Sweep{Work: []float64{60}, Law: []workload.Law{workload.Exponential}, Fleet: []string{"5x64"}}),
			values{
				"run_mean":     {"default": {100, 100}, "spazio": {71, 71}},
				"sojourn_mean": {"default": {100, 100}, "spazio": {100, 100}, "central-queue": {99, 99}},
			},
			map[string]string{
				"run_mean/default ≤ 0.7":            "0.71 false",
				"sojourn_mean/default ≤ 1":          "1.00 true",
				"sojourn_mean/central-queue ≤ 1.05": "1.01 true",
			},
		},
		{
			"servers that request",
			cases(t, "s1", experiment.Params{Nodes: 3}, experiment.Sweep{Requests: []workload.Requests{workload.RequestServers}}),
			values{"server_p99": {"idle": {1, 1}, "spazio": {1.1, 1.1}, "default": {3, 3}}, "useful_share": {"default": {.8, .8}, "spazio": {.7, .7}}},
			map[string]string{"server_p99/idle ≤ 1.05": "1.10 false", "useful_share/default ≥ 0.75": "0.87 true"},
		},
		{
			"wrong requests", // two-choices has the best slowdown, and takes for ever
			cases(t, "w1", experiment.Params{Nodes: 3}, experiment.Sweep{}),
			values{
				"slowdown_p99": {"two-choices": {1, 1}, "default": {4, 4}, "low-risk": {5, 5}, "spazio": {3, 3}},
				"makespan":     {"lower-bound": {100, 100}, "two-choices": {121, 121}, "default": {119, 119}, "low-risk": {101, 101}, "spazio": {110, 110}},
			},
			map[string]string{"slowdown_p99/best of the others within 1.2 × lower-bound ≤ 1": "0.75 true"},
		},
		{
			"arrivals beyond what leaves room",
			cases(t, "b2", experiment.Params{Nodes: 3}, experiment.Sweep{Work: []float64{1}, Load: []float64{.8}}),
			values{"sojourn_mean": {"default": {1, 1}, "spazio": {2, 2}}},
			map[string]string{},
		},
		{
			"arrivals",
			cases(t, "b2", experiment.Params{Nodes: 3}, experiment.Sweep{Work: []float64{10}, Load: []float64{.8}}),
			values{"sojourn_mean": {"default": {1, 1}, "spazio": {1.06, 1.06}}, "run_mean": {"default": {1, 1}, "spazio": {1, 1}}},
			map[string]string{"sojourn_mean/default ≤ 1.05": "1.06 false", "run_mean/default ≤ 1.03": "1.00 true"},
		},
		{
			"overdue pods", // the wait in seconds, the others' slowdown to that without them
			cases(t, "o1", experiment.Params{}, experiment.Sweep{Load: []float64{2}}),
			values{"wait_max": {"default": {1, 1}, "spazio": {655, 667}}, "resident_slowdown_p99": {"idle": {2, 2}, "spazio": {2.5, 2.5}}},
			map[string]string{"wait_max ≤ 660": "661.00 false", "resident_slowdown_p99/idle ≤ 1.31": "1.25 true"},
		},
		{
			"nothing is killed under any",
			cases(t, "b3", experiment.Params{Nodes: 3}, experiment.Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}}),
			values{"kills": {"default": {0, 0}, "spazio": {0, 0}}},
			map[string]string{"kills/default ≤ 0.02": "1.00 true"},
		},
		{
			"memory",
			cases(t, "b3io", experiment.Params{Nodes: 3}, experiment.Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}}),
			values{"kills": {"default": {100, 100}, "spazio": {3, 0}}, "makespan": {"default": {9, 9}, "spazio": {9, 9}}},
			map[string]string{"kills/default ≤ 0.02": "0.01 true", "makespan/default ≤ 1": "1.00 true"},
		},
	}
	for _, test := range tests {
		var data []experiment.Row
		for metric, schedulers := range test.values {
			for scheduler, values := range schedulers {
				for seed, v := range values {
					data = append(data, experiment.Row{Experiment: test.cases[0].Label, Scheduler: scheduler, Seed: uint64(seed), Metric: metric, Value: v})
				}
			}
		}
		got := map[string]string{}
		for _, v := range experiment.Judge(test.cases, data, experiment.Spazio) {
			got[v.Claim] = fmt.Sprintf("%.2f %v", v.Measured.Mean, v.Holds)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A loss is relative to the best of the others that place pods, and larger than noise.
func TestLosses(t *testing.T) {
	b1 := cases(t, "b1", experiment.Params{}, experiment.Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}})
	values := map[string]map[string][]float64{
		"useful_share":    {"default": {.8, .8}, "low-risk": {.9, .9}, "spazio": {.54, .55}, "central-queue": {1, 1}},
		"makespan":        {"default": {100, 100}, "spazio": {100.5, 100.5}},             // alike
		"run_mean":        {"default": {100, 100}, "spazio": {90, 150}},                  // who knows
		"sojourn_mean":    {"default": {100, 100}, "low-risk": {9, 9}, "spazio": {5, 5}}, // better
		"memory_overload": {"default": {0, 0}, "spazio": {0, 3}},
		"utilisation":     {"default": {.1, .1}, "spazio": {.5, .5}}, // no matter
	}
	var data []experiment.Row
	for metric, schedulers := range values {
		for scheduler, v := range schedulers {
			for seed, x := range v {
				data = append(data, experiment.Row{Experiment: b1[0].Label, Scheduler: scheduler, Seed: uint64(seed), Metric: metric, Value: x})
			}
		}
	}
	var got []string
	for _, l := range experiment.Losses(b1, data, experiment.Spazio) {
		got = append(got, fmt.Sprintf("%s to %s %.2f", l.Metric, l.Other, l.Ratio.Mean))
	}
	want := []string{"useful_share to low-risk 0.61", "memory_overload to default +Inf"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A computed row that places no pods is no scheduler to lose against, and the bound covers two
// metrics only.
func TestComputedRows(t *testing.T) {
	var name *experiment.NameError
	for _, computed := range []string{"central-queue", "lower-bound"} {
		if _, err := experiment.SchedulerOf(computed, experiment.Params{}); !errors.As(err, &name) {
			t.Errorf("%s: error %v", computed, err)
		}
	}
	b1 := cases(t, "b1", experiment.Params{Nodes: 1, Pods: 8}, experiment.Sweep{Work: []float64{2}, Law: []workload.Law{workload.Equal}})
	rows, err := experiment.Run(t.Context(), b1, experiment.Options{Schedulers: []string{"lower-bound"}, Seeds: []uint64{1}})
	if err != nil {
		t.Fatal(err)
	}
	var metrics []string
	for _, r := range rows {
		metrics = append(metrics, r.Metric)
	}
	if diff := cmp.Diff([]string{"makespan", "sojourn_mean"}, metrics); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Before the central queue's four cores pods run alone, and without a node none is killed.
	rows, err = experiment.Run(t.Context(), b1, experiment.Options{Schedulers: []string{"central-queue"}, Seeds: []uint64{1}})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Error("no rows of the central queue")
	}
	for _, r := range rows {
		if r.Metric == "slowdown_p99" && math.Abs(r.Value-1) > 1e-9 || r.Metric == "kills" {
			t.Errorf("central queue: %s is %g", r.Metric, r.Value)
		}
	}
}

// Without the bound on waiting, the experiment misses its target.
func TestOverdueMissesWithoutABound(t *testing.T) {
	if testing.Short() {
		return // one simulation after another
	}
	for _, test := range []struct {
		set   []string
		holds map[string]bool
	}{
		{nil, map[string]bool{"wait_max ≤ 660": true, "resident_slowdown_p99/idle ≤ 1.31": true}},
		{[]string{"overdue.off=true"}, map[string]bool{"wait_max ≤ 660": false, "resident_slowdown_p99/idle ≤ 1.31": true}},
	} {
		o1 := cases(t, "o1", experiment.Params{Nodes: 3, Cores: 4, Set: test.set}, experiment.Sweep{Load: []float64{2}})
		rows, err := experiment.Run(t.Context(), o1, experiment.Options{Schedulers: []string{experiment.Spazio}, Seeds: []uint64{1}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, v := range experiment.Judge(o1, rows, experiment.Spazio) {
			got[v.Claim] = v.Holds
		}
		if diff := cmp.Diff(test.holds, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.set, diff)
		}
	}
}

func TestOvercommitIsHandedOn(t *testing.T) {
	for _, overcommit := range []node.Overcommit{node.Evict, node.Kill, node.Swap} {
		b3 := cases(t, "b3", experiment.Params{Nodes: 1, Pods: 40, Overcommit: overcommit}, experiment.Sweep{Work: []float64{5}, Law: []workload.Law{workload.Equal}})
		kills, results := -1., []sim.Result(nil)
		rows, err := experiment.Run(t.Context(), b3, experiment.Options{
			Schedulers: []string{experiment.Default}, Seeds: []uint64{1},
			Observe: func(_ experiment.Case, _ string, _ uint64, r sim.Result) { results = append(results, r) },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Metric == "kills" {
				kills = r.Value
			}
		}
		// Killed pods are bound again, except under a kubelet, which restarts them in place.
		attempts := 0
		for _, r := range results[0].Records {
			attempts += r.Attempts
		}
		if (kills > 0) == (overcommit == node.Swap) || (attempts > 40) != (overcommit == node.Kill) {
			t.Errorf("%v: %g kills, %d attempts at 40 pods", overcommit, kills, attempts)
		}
	}
}

// Nodes of the findings on mixed pods swap, as the prototype's did.
// Ten pods of a core on four cores take turns, 2.5 a core, and lose 1.5·.085 by it in
// b5; in b1, of the same pods, nothing.
func TestCrowdingIsB5s(t *testing.T) {
	run := map[string]float64{}
	for _, name := range []string{"batch", "cache"} {
		batch := cases(t, name, experiment.Params{Nodes: 1, Pods: 10}, experiment.Sweep{Work: []float64{60}, Law: []workload.Law{workload.Equal}})
		rows, err := experiment.Run(t.Context(), batch, experiment.Options{Schedulers: []string{experiment.Default}, Seeds: []uint64{1}})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(rows, func(r experiment.Row) bool { return r.Metric == "run_mean" })
		run[name] = rows[i].Value
	}
	if ratio := run["cache"] / run["batch"]; math.Abs(ratio-(1+1.5*.085)) > .02 {
		t.Errorf("pods of b5 run %.3f times as long as those of b1, want 1.1275", ratio)
	}
}

func TestFindingsSwap(t *testing.T) {
	c := cases(t, "finding-8", experiment.Params{Nodes: 1, Pods: 60}, experiment.Sweep{})
	rows, err := experiment.Run(t.Context(), c, experiment.Options{Schedulers: []string{experiment.Default}, Seeds: []uint64{1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Metric == "kills" && r.Value != 0 || r.Metric == "memory_overload" && r.Value == 0 {
			t.Errorf("%s is %g", r.Metric, r.Value)
		}
	}
}

// Progress is called for every run.
func TestProgress(t *testing.T) {
	b1 := cases(t, "b1", experiment.Params{Nodes: 1, Pods: 4}, experiment.Sweep{Work: []float64{1}})
	var got []string
	o := experiment.Options{Schedulers: []string{experiment.Default}, Seeds: []uint64{1, 2}}
	o.Progress = func(done, all int) { got = append(got, fmt.Sprintf("%d of %d", done, all)) }
	if _, err := experiment.Run(t.Context(), b1, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 of 4", "2 of 4", "3 of 4", "4 of 4"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Runs are reported in the order of the rows, whatever the workers, and given pods run like any
// others, in the cluster of the parameters: where parts are 5 s apart a bind takes 10 s, from the scheduler
// to the API server and on to the node.
func TestObserve(t *testing.T) {
	given := experiment.Given("mine", []sim.Pod{{Work: 2}, {Created: 1, Work: 3}})
	c, err := given.Cases(experiment.Params{Nodes: 1, Cluster: sim.Config{Latency: 5}}, experiment.Sweep{})
	if err != nil {
		t.Fatal(err)
	}
	o := experiment.Options{Schedulers: []string{experiment.Spazio, "lower-bound", experiment.Default}, Seeds: []uint64{1, 2, 3}}
	for _, workers := range []int{1, 4} {
		o.Workers = workers
		var got []string
		o.Observe = func(c experiment.Case, scheduler string, seed uint64, r sim.Result) {
			got = append(got, fmt.Sprintf("%s %s %d: %d pods, ended %v", c.Label, scheduler, seed, len(r.Records), r.End > 1+10+3))
		}
		rows, err := experiment.Run(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, scheduler := range []string{"spazio", "default"} {
			for seed := 1; seed <= 3; seed++ {
				want = append(want, fmt.Sprintf("mine %s %d: 2 pods, ended true", scheduler, seed))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d workers (-want +got):\n%s", workers, diff)
		}
		if rows[0].Experiment != "mine" || !slices.ContainsFunc(rows, func(r experiment.Row) bool { return r.Scheduler == "lower-bound" }) {
			t.Errorf("rows %+v", rows)
		}
	}
}
