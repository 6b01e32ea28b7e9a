package sim_test

import (
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// By hand: a has pods of 1 and 3 core-seconds that sojourn for 2 and 6 s, b one of 2 for 8 s, of
// one core each.
func TestSojournByOwnerAndWork(t *testing.T) {
	r := sim.Result{
		Pods:    []sim.Pod{{Work: 1, Workload: "a"}, {Work: 3, Workload: "a"}, {Work: 2, Workload: "b"}},
		Records: []sim.Record{{Done: 2, Running: 1}, {Done: 6, Running: 1}, {Done: 8, Running: 1}},
		Nodes:   1, Cores: 4, End: 8, Span: 8, Lost: 5,
	}
	got := map[string]float64{}
	for _, m := range sim.Summarise(r) {
		got[m.Name] = m.Value
	}
	for name, want := range map[string]float64{
		"sojourn_mean":       16. / 3,
		"sojourn_owner_mean": 6,  // of 4 and 8
		"sojourn_work_mean":  6,  // (2·1 + 6·3 + 8·2)/6
		"owner_jain":         .9, // of 8/4 and 8/2: 36/(2·20)
		"lost_work":          5,
	} {
		if math.Abs(got[name]-want) > 1e-12 {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
	r.Pods[2].Workload = "a"
	for _, m := range sim.Summarise(r) {
		if m.Name == "sojourn_owner_mean" || m.Name == "owner_jain" {
			t.Errorf("%s of one owner", m.Name)
		}
	}
}

// By hand: pods of 1 and 3 core-seconds in phases sojourn for 4 and 8 s. Pods without work have no
// mean by work.
func TestSojournByWorkOfPhases(t *testing.T) {
	for cores, want := range map[float64]float64{.5: 7, 0: math.NaN()} { // (4·1 + 8·3)/4
		got := math.NaN()
		for _, m := range sim.Summarise(sim.Result{
			Pods: []sim.Pod{
				{Phases: []node.Stage{{Seconds: 2, Cores: cores}}},
				{Phases: []node.Stage{{Seconds: 1}, {Seconds: 3, Cores: 2 * cores}}},
			},
			Records: []sim.Record{{Done: 4, Running: 1}, {Done: 8, Running: 1}},
			Nodes:   1, Cores: 4, End: 8, Span: 8,
		}) {
			if math.IsNaN(m.Value) {
				t.Errorf("%g cores: %s is NaN", cores, m.Name)
			}
			if m.Name == "sojourn_work_mean" {
				got = m.Value
			}
		}
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%g cores: %g s, want %g", cores, got, want)
		}
	}
}
