package experiment_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// quantiles are in the format of the public histograms.
func quantiles(dir fstest.MapFS) fstest.MapFS {
	for _, name := range []string{"instance_cpu", "instance_mem", "instance_duration", "instance_num", "task_cpu", "task_mem"} {
		dir[workload.Alibaba2018+"/"+name+".csv"] = &fstest.MapFile{Data: []byte("p,value\n0,1\n1,2\n")}
	}
	return dir
}

// Folders of the public files replace the generated traces, each only in the cases of its name;
// held-out runs use the other half. If a folder is missing, nothing is generated instead.
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
	small.Trace = quantiles(fstest.MapFS{workload.OpenB2023 + "/openb_pod_list_default.csv": {Data: []byte(list)}})
	read, other := rows(small), rows(heldOut)
	if len(generated) != 6 {
		t.Fatalf("%d cases, want three traces, declared and not", len(generated))
	}
	for label, sojourn := range generated {
		if changed, want := read[label] != sojourn, !strings.HasSuffix(label, workload.ZipfOwners); changed != want {
			t.Errorf("%s: the directory changes it: %v", label, changed)
		}
		if other[label] == sojourn {
			t.Errorf("%s: both halves are one", label)
		}
	}
	small.Trace = quantiles(fstest.MapFS{workload.OpenB2023 + "/openb_pod_list_default.csv": {Data: []byte("nothing\n")}})
	_, err := experiment.Run(t.Context(), cases(t, "traces", small, experiment.Sweep{}), experiment.Options{
		Schedulers: []string{experiment.Default}, Seeds: []uint64{1}, Workers: 1,
	})
	if !errors.Is(err, workload.ErrTrace) {
		t.Errorf("a bad file: %v", err)
	}
	e, err := experiment.ByName("traces")
	if err != nil {
		t.Fatal(err)
	}
	small.Trace = quantiles(fstest.MapFS{"alibaba-openb/openb_pod_list_default.csv": {Data: []byte(list)}})
	if _, err := e.Cases(small, experiment.Sweep{}); !errors.Is(err, workload.ErrTrace) || !strings.Contains(err.Error(), workload.OpenB2023) {
		t.Errorf("a misspelt folder: %v", err)
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
