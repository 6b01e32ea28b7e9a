package experiment_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// A folder of the public files replaces the generated trace, only in the case of its name; held-out
// runs use the other half.
func TestTracesOfADirectory(t *testing.T) {
	list := "cpu_milli,memory_mib,creation_time,deletion_time,scheduled_time\n"
	for range 50 {
		list += "8000,16384,0,2000,0\n4000,8192,10,400,10\n8000,8192,20,400,20\n"
	}
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
	generated := rows(small)
	heldOut := small
	heldOut.HeldOut = true
	small.Trace = fstest.MapFS{workload.OpenB2023 + "/openb_pod_list_default.csv": {Data: []byte(list)}}
	read, other := rows(small), rows(heldOut)
	if len(generated) != 6 {
		t.Fatalf("%d cases, want three traces, declared and not", len(generated))
	}
	for label, sojourn := range generated {
		of := "traces/load=0.9/requests=none/mix=" + workload.OpenB2023
		declared := "traces/load=0.9/requests=planned/mix=" + workload.OpenB2023
		if changed, want := read[label] != sojourn, label == of || label == declared; changed != want {
			t.Errorf("%s: the directory changes it: %v", label, changed)
		}
		if other[label] == sojourn {
			t.Errorf("%s: both halves are one", label)
		}
	}
	small.Trace = fstest.MapFS{workload.OpenB2023 + "/openb_pod_list_default.csv": {Data: []byte("nothing\n")}}
	_, err := experiment.Run(t.Context(), cases(t, "traces", small, experiment.Sweep{}), experiment.Options{
		Schedulers: []string{experiment.Default}, Seeds: []uint64{1}, Workers: 1,
	})
	if !errors.Is(err, workload.ErrTrace) {
		t.Errorf("a bad file: %v", err)
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
