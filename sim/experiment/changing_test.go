package experiment_test

import (
	"testing"

	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// Three traces are replayed, declared and not; held-out runs use the other half.
func TestTraces(t *testing.T) {
	small := experiment.Params{Nodes: 2, Duration: 30}
	rows := func(p experiment.Params) map[string]float64 {
		t.Helper()
		all, err := experiment.Run(t.Context(), cases(t, "traces", p, experiment.Sweep{}), experiment.Options{
			Schedulers: []string{experiment.Default}, Seeds: []uint64{1}, Workers: 2,
		})
		if err != nil {
			t.Fatal(err)
		}
		sojourns := map[string]float64{}
		for _, r := range all {
			if r.Metric == "sojourn_mean" {
				sojourns[r.Experiment] = r.Value
			}
		}
		return sojourns
	}
	first := rows(small)
	small.HeldOut = true
	other := rows(small)
	if len(first) != 6 {
		t.Fatalf("%d cases, want three traces, declared and not", len(first))
	}
	for label, sojourn := range first {
		if other[label] == sojourn {
			t.Errorf("%s: both halves are one", label)
		}
	}
}

// Services by themselves have the whole day, the same one at every load.
func TestServicesAlone(t *testing.T) {
	rows, err := experiment.Run(t.Context(), cases(t, "services", experiment.Params{Nodes: 2, Duration: 1800}, experiment.Sweep{Load: []float64{.1, .2}}), experiment.Options{
		Schedulers: []string{experiment.Default}, Seeds: []uint64{1}, Workers: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	alone := map[float64]bool{}
	for _, r := range rows {
		if r.Scheduler == experiment.Idle && r.Metric == "server_mean" {
			alone[r.Value] = true
			if r.Value < .095 || r.Value > .13 {
				t.Errorf("%s: a request of 0.1 s takes %g s alone", r.Experiment, r.Value)
			}
		}
	}
	if len(alone) == 0 || len(alone) > 2 { // declared and not
		t.Errorf("services alone: means %v", alone)
	}
}
