package experiment_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

func TestRecorder(t *testing.T) {
	var pods, timeline strings.Builder
	r := experiment.NewRecorder(&pods, &timeline)
	c := experiment.Case{Label: "mine"}
	result := sim.Result{
		Pods: []sim.Pod{{Work: 2}}, Records: []sim.Record{{Bound: 1, Running: 2, Done: 4, Attempts: 1}},
		Timeline: []sim.Moment{{At: 3, Running: 1, Busy: 1}},
	}
	r.Observe(c, "default", 1, result)
	r.Observe(c, "spazio", 2, result)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := `experiment,scheduler,seed,pod,owner,created,cores,threads,work,memory,request_cores,request_memory,node,bound,running,done,attempts,kills,evictions
mine,default,1,0,,0,1,0,2,0,0,0,0,1,2,4,1,0,0
mine,spazio,2,0,,0,1,0,2,0,0,0,0,1,2,4,1,0,0
`
	if diff := cmp.Diff(want, pods.String()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	want = "experiment,scheduler,seed,at,waiting,starting,running,busy_cores,memory\nmine,default,1,3,0,0,1,1,0\nmine,spazio,2,3,0,0,1,1,0\n"
	if diff := cmp.Diff(want, timeline.String()); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
}

func TestRecorderRevision(t *testing.T) {
	var timeline strings.Builder
	r := experiment.NewRecorder(nil, &timeline)
	r.Revision = "v1"
	r.Observe(experiment.Case{Label: "mine"}, "default", 1, sim.Result{Timeline: []sim.Moment{{At: 3}}})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := "experiment,scheduler,seed,revision,at,waiting,starting,running,busy_cores,memory\nmine,default,1,v1,3,0,0,0,0,0\n"
	if diff := cmp.Diff(want, timeline.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestRecorderFails(t *testing.T) {
	r := experiment.NewRecorder(nil, full{})
	r.Observe(experiment.Case{}, "default", 1, sim.Result{Timeline: []sim.Moment{{}}})
	if err := r.Close(); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

// The files are written at Close, and unwanted ones are not created.
func TestCreateRecorder(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "timeline.csv")
	r, err := experiment.CreateRecorder("", name)
	if err != nil {
		t.Fatal(err)
	}
	r.Observe(experiment.Case{Label: "mine"}, "default", 1, sim.Result{Timeline: []sim.Moment{{At: 3}}})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	want := "experiment,scheduler,seed,at,waiting,starting,running,busy_cores,memory\nmine,default,1,3,0,0,0,0,0\n"
	if diff := cmp.Diff(want, string(text)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	if _, err := experiment.CreateRecorder(filepath.Join(dir, "pods.csv"), filepath.Join(dir, "no", "such")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no directory: %v", err)
	}
	if err := r.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
}
