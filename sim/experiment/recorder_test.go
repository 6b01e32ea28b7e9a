package experiment_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

func TestRecorder(t *testing.T) {
	var pods strings.Builder
	r := experiment.NewRecorder(&pods, "v1")
	c := experiment.Case{Label: "mine"}
	result := sim.Result{Pods: []sim.Pod{{Work: 2}}, Records: []sim.Record{{Bound: 1, Running: 2, Done: 4, Attempts: 1}}}
	r.Observe(c, "default", 1, result)
	r.Observe(c, "spazio", 2, result)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	want := `experiment,scheduler,seed,revision,pod,owner,created,cores,threads,work,memory,request_cores,request_memory,node,bound,running,done,attempts,kills,evictions
mine,default,1,v1,0,,0,1,0,2,0,0,0,0,1,2,4,1,0,0
mine,spazio,2,v1,0,,0,1,0,2,0,0,0,0,1,2,4,1,0,0
`
	if diff := cmp.Diff(want, pods.String()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestRecorderFails(t *testing.T) {
	r := experiment.NewRecorder(full{}, "v1")
	r.Observe(experiment.Case{}, "default", 1, sim.Result{})
	if err := r.Err(); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}
