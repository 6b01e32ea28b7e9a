package experiment_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// verdicts returns those on one case of an experiment on profiles, from given rows: a value a
// scheduler and metric, the same for two seeds except for a tenth.
func verdicts(t *testing.T, name, label string, p experiment.Params, values map[string]map[string]float64) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, c := range cases(t, name, p, experiment.Sweep{}) {
		if !strings.Contains(c.Label, label) {
			continue
		}
		var rows []experiment.Row
		for metric, schedulers := range values {
			for scheduler, v := range schedulers {
				for seed := range uint64(2) {
					rows = append(rows, experiment.Row{
						Experiment: c.Label, Scheduler: scheduler, Metric: metric, Seed: seed, Value: v * (1 + .1*float64(seed)),
					})
				}
			}
		}
		for _, v := range experiment.Judge([]experiment.Case{c}, rows, experiment.Spazio) {
			got[v.Claim] = fmt.Sprintf("%.2f %v", v.Measured.Mean, v.Holds)
			if v.Measured.Low > v.Measured.Mean || v.Measured.High < v.Measured.Mean {
				t.Errorf("%s: interval %+v", v.Claim, v.Measured)
			}
		}
	}
	return got
}

// TestNamed: pods of an experiment without workloads count as typical under profiles, and as known
// ones once they have names.
func TestNamed(t *testing.T) {
	of := map[bool]map[string][]float64{}
	for _, named := range []bool{false, true} {
		of[named] = map[string][]float64{}
		b1 := cases(t, "b1", experiment.Params{Nodes: 2, Pods: 60, Named: named}, experiment.Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}})
		rows, err := experiment.Run(t.Context(), b1, experiment.Options{Schedulers: []string{"spazio-units", "spazio-pooled"}, Seeds: []uint64{1}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Metric == "makespan" || r.Metric == "sojourn_mean" {
				of[named][r.Scheduler] = append(of[named][r.Scheduler], r.Value)
			}
		}
	}
	if !slices.Equal(of[false]["spazio-units"], of[false]["spazio-pooled"]) {
		t.Error("profiles tell of pods without a workload")
	}
	if slices.Equal(of[true]["spazio-units"], of[true]["spazio-pooled"]) {
		t.Error("profiles tell nothing of pods that were given a name")
	}
	if !slices.Equal(of[true]["spazio-pooled"], of[false]["spazio-pooled"]) {
		t.Error("names change what is decided without profiles")
	}
}

func TestProfileTargets(t *testing.T) {
	for _, test := range []struct {
		name, label string
		params      experiment.Params
		values      map[string]map[string]float64
		want        map[string]string
	}{
		{
			"p1", "law=equal/mix=memory/", experiment.Params{},
			map[string]map[string]float64{
				"makespan":     {"spazio": 80, "spazio-pooled": 90, "requests-vpa": 101, "learnt-seed": 99, "requests-right": 10},
				"sojourn_mean": {"spazio": 40, "spazio-pooled": 45, "requests-vpa": 50, "learnt-seed": 60},
				"kills":        {"spazio": 5, "spazio-pooled": 1},
			},
			map[string]string{
				"makespan/spazio-pooled ≤ 0.95": "0.89 true", "sojourn_mean/spazio-pooled ≤ 0.85": "0.89 false",
				"makespan/best recommender ≤ 0.8": "0.81 false", "sojourn_mean/best recommender ≤ 0.75": "0.80 false",
			},
		},
		{
			"p2", "law=exponential", experiment.Params{},
			map[string]map[string]float64{"kills": {"spazio": 9, "spazio-pooled": 100}, "memory_overload": {"spazio": 9, "spazio-pooled": 10}},
			map[string]string{"kills/spazio-pooled ≤ 0.1": "0.09 true"},
		},
		{
			"p2", "law=exponential", experiment.Params{Overcommit: node.Swap},
			map[string]map[string]float64{"kills": {"spazio": 9, "spazio-pooled": 100}, "memory_overload": {"spazio": 9, "spazio-pooled": 10}},
			map[string]string{"memory_overload/spazio-pooled ≤ 0.1": "0.90 false"},
		},
		{
			"p3", "load=0.9", experiment.Params{},
			map[string]map[string]float64{"sojourn_mean": {"spazio": 9, "spazio-pooled": 10}, "wait_largest_tenth": {"spazio": 9, "spazio-pooled": 10}},
			map[string]string{"wait_largest_tenth/spazio-pooled ≤ 1": "0.90 true"},
		},
		{
			"p3", "load=0.7", experiment.Params{},
			map[string]map[string]float64{"sojourn_mean": {"spazio": 4, "spazio-pooled": 10}, "slowdown_p99": {"spazio": 6, "spazio-pooled": 10}},
			map[string]string{"sojourn_mean/spazio-pooled ≤ 0.5": "0.40 true", "slowdown_p99/spazio-pooled ≤ 0.5": "0.60 false"},
		},
		{
			"p4", "rollout", experiment.Params{},
			map[string]map[string]float64{"sojourn_mean": {"spazio": 11, "spazio-pooled": 10}, "kills": {"spazio": 9, "spazio-pooled": 9}},
			map[string]string{"sojourn_mean/spazio-pooled ≤ 1": "1.10 false", "kills/spazio-pooled ≤ 1": "1.00 true"},
		},
		{
			"p5", "x0.1", experiment.Params{},
			map[string]map[string]float64{"sojourn_mean": {"spazio": 11, "spazio-pooled": 10}, "makespan": {"spazio": 12, "spazio-pooled": 10}},
			map[string]string{"sojourn_mean/spazio-pooled ≤ 1.15": "1.10 true", "makespan/spazio-pooled ≤ 1.15": "1.20 false"},
		},
	} {
		if d := cmp.Diff(test.want, verdicts(t, test.name, test.label, test.params, test.values)); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.name, test.label, d)
		}
	}
}

// TestBeliefs: the initial knowledge of a case is what its label names, and assignments override
// it.
func TestBeliefs(t *testing.T) {
	for _, c := range cases(t, "p5", experiment.Params{Set: []string{"profiles.first=2"}}, experiment.Sweep{}) {
		s, err := experiment.SchedulerOf(experiment.Spazio, c.Params)
		if err != nil {
			t.Fatal(err)
		}
		got := s.(sim.Spazio).Profiles
		if want := (sim.Profiles{On: true, Frozen: true, First: 2, Known: got.Known}); got != want || !strings.Contains(c.Label, fmt.Sprintf("belief=x%g/", got.Known)) || got.Known == 0 {
			t.Errorf("%s: %+v", c.Label, got)
		}
		if s, err = experiment.SchedulerOf("spazio-pooled", c.Params); err != nil || s.(sim.Spazio).Profiles != (sim.Profiles{}) {
			t.Errorf("%s, pooled: %+v, %v", c.Label, s, err)
		}
	}
	// Elsewhere only the scheduler that always uses profiles knows anything.
	b1 := cases(t, "b1", experiment.Params{}, experiment.Sweep{Work: []float64{1}})[0]
	for name, on := range map[string]bool{experiment.Spazio: false, "spazio-units": true, "spazio-pooled": false, "spazio-scalar": true} {
		s, err := experiment.SchedulerOf(name, b1.Params)
		if err != nil || s.(sim.Spazio).Profiles.On != on {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// countsOrRecommends reports whether a scheduler is covered by TestBeliefs, TestRecommenders or
// TestEnergySchedulers.
func countsOrRecommends(name string) bool {
	return slices.Contains(experiment.EnergyField(), name) || strings.HasPrefix(name, "spazio-") || strings.HasPrefix(name, "requests-") || strings.HasPrefix(name, "learnt-")
}

// TestRecommenders: each preset has requests under its own name, once from a recommender with full
// knowledge and once from one that learns.
func TestRecommenders(t *testing.T) {
	presets := profile.Presets()
	if len(presets) < 6 {
		t.Fatalf("%d presets", len(presets))
	}
	for _, preset := range presets {
		for name, want := range map[string]sim.Recommended{
			"requests-" + preset.Name: {Preset: preset, Profiles: sim.Profiles{Known: 1, Frozen: true}},
			"learnt-" + preset.Name:   {Preset: preset},
		} {
			got, err := experiment.SchedulerOf(name, experiment.Params{})
			if err != nil || got != want {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	}
}
