package experiment_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

func TestGroups(t *testing.T) {
	tests := map[string][]string{
		"b1":                 {"batch"},
		"finding-3":          {"finding-3"},
		"finding-9":          {"finding-9-batch", "finding-9-arrivals"},
		"Finding-1":          {"finding-1-arrivals", "finding-1-batch", "finding-1-parts"},
		"finding-1-arrivals": {"finding-1-arrivals"},
	}
	for name, want := range tests {
		group, err := experiment.ByGroup(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range group {
			got = append(got, e.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	all, err := experiment.ByGroup(experiment.Findings)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 9; n++ {
		found := false
		for _, e := range all {
			found = found || strings.HasPrefix(e.Name, fmt.Sprintf("finding-%d", n))
		}
		if !found {
			t.Errorf("no experiment on finding %d", n)
		}
	}
	var name *experiment.NameError
	for _, bad := range []string{"finding", "finding-0", "b", ""} {
		if _, err := experiment.ByGroup(bad); !errors.As(err, &name) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

// ratios runs findings on development seeds and returns the ratio of one
// scheduler's metric to another's.
func ratios(t *testing.T, name string, p experiment.Params, s experiment.Sweep, schedulers ...string) func(metric, of, to string) float64 {
	t.Helper()
	run := cases(t, name, p, s)
	rows, err := experiment.Run(t.Context(), run, experiment.Options{Schedulers: schedulers, Seeds: []uint64{1, 2, 3}, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return func(metric, of, to string) float64 {
		for _, l := range experiment.Ratios(rows, to) {
			if l.Experiment == run[0].Label && l.Scheduler == of && l.Metric == metric {
				return l.Mean
			}
		}
		return math.NaN()
	}
}

// What the findings say of the schedulers must stay so: each compares two fixed
// configurations, with half of the measured effect for room.
func TestFindingsKeepTheirDirection(t *testing.T) {
	arrivals := experiment.Params{Duration: 120}
	tests := []struct {
		experiment string
		params     experiment.Params
		sweep      experiment.Sweep
		metric     string
		of, to     string
		low, high  float64
	}{
		{"finding-1-arrivals", arrivals, experiment.Sweep{}, "most_pods_per_core", "source", experiment.Default, 2, 200},
		{"finding-1-arrivals", arrivals, experiment.Sweep{}, "most_pods_per_core", "source-signal", "source", 0, .7},
		{"finding-1-arrivals", arrivals, experiment.Sweep{}, "slowdown_p99", experiment.Reference, experiment.Default, 0, 1.1},
		{"finding-1-parts", arrivals, experiment.Sweep{}, "most_pods_per_core", "source-channels", "source", 0, .7},
		{"finding-1-parts", arrivals, experiment.Sweep{}, "most_pods_per_core", "source-headroom", "source", 1.05, 200},
		{"finding-2", arrivals, experiment.Sweep{}, "sojourn_mean", "source-headroom-cautious", "source-cautious", 0, .9},
		{"finding-3", experiment.Params{Pods: 400}, experiment.Sweep{Work: []float64{1}}, "makespan", experiment.Reference, "blocks-alone", 0, .95},
		{"finding-4", experiment.Params{Pods: 400}, experiment.Sweep{Work: []float64{1}}, "makespan", "allowance-1", experiment.Reference, 0, .9},
		{"finding-6", arrivals, experiment.Sweep{}, "sojourn_mean", "source-cautious-open", "source-cautious", 0, .9},
		{"finding-8", experiment.Params{}, experiment.Sweep{}, "memory_overload", experiment.Reference, "unguarded", 0, .7},
		{"finding-9-arrivals", arrivals, experiment.Sweep{}, "slowdown_p99", experiment.Reference, "scalar", 0, 1}, // closer since a full channel bounds the cost
	}
	if testing.Short() { // the rest is the same arithmetic
		tests = tests[:1]
	}
	for _, test := range tests {
		name := fmt.Sprintf("%s/%s/%s", test.experiment, test.metric, test.of)
		t.Run(name, func(t *testing.T) {
			ratio := ratios(t, test.experiment, test.params, test.sweep, test.of, test.to)
			if got := ratio(test.metric, test.of, test.to); !(got >= test.low && got <= test.high) {
				t.Errorf("%g of %s's, want %g to %g", got, test.to, test.low, test.high)
			}
		})
	}
}

func TestJudgeFindings(t *testing.T) {
	three := cases(t, "finding-3", experiment.Params{}, experiment.Sweep{Work: []float64{1}})
	var rows []experiment.Row
	for i, makespan := range map[string][2]float64{experiment.Reference: {8, 9}, "blocks-alone": {10, 10}} {
		for seed, v := range makespan {
			rows = append(rows, experiment.Row{
				Experiment: three[0].Label, Scheduler: i, Seed: uint64(seed), Metric: "makespan", Value: v, Unit: "s",
			})
		}
	}
	got := map[string]string{}
	for _, v := range experiment.JudgeFindings(three, rows) {
		got[v.Claim] = fmt.Sprintf("%.3f %v, %s", v.Measured.Mean, v.Holds, v.Prototype)
	}
	// √(.8·.9); of the claims on the default nothing was run.
	want := map[string]string{"makespan: reference/blocks-alone ≤ 0.95": "0.849 true, half a second a slot"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Claims of at least a factor, and of one length of pods alone.
func TestJudgeFindingsBounds(t *testing.T) {
	arrivals := cases(t, "finding-1-arrivals", experiment.Params{}, experiment.Sweep{})
	batch := cases(t, "finding-1-batch", experiment.Params{}, experiment.Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}})
	judge := func(c experiment.Case, metric string, of, to float64) map[string]bool {
		rows := []experiment.Row{
			{Experiment: c.Label, Scheduler: "source", Metric: metric, Value: of},
			{Experiment: c.Label, Scheduler: experiment.Default, Metric: metric, Value: to},
		}
		got := map[string]bool{}
		for _, v := range experiment.JudgeFindings([]experiment.Case{c}, rows) {
			got[v.Claim] = v.Holds
		}
		return got
	}
	for _, test := range []struct {
		of    float64
		holds bool
	}{{19, false}, {21, true}} {
		want := map[string]bool{"slowdown_p99: source/default ≥ 2": test.holds}
		if diff := cmp.Diff(want, judge(arrivals[0], "slowdown_p99", test.of, 10)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	want := map[string]bool{"run_mean: source/default ≤ 0.2": true}
	if diff := cmp.Diff(want, judge(batch[0], "run_mean", 1, 10)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
