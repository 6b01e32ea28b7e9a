package batch_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

// Times count from the first submission, whichever record has it; missing events are left out.
func TestOutcomes(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	records := []batch.Record{
		{Name: "late", Node: "n", Task: batch.Task{Work: 2 * time.Second, Startup: time.Second / 2, Memory: 1 << 20},
			Created: at(3), Bound: at(3.5), Running: at(4), Done: at(6.25), Failed: true},
		{Name: "first", Created: at(1)},
		{Name: "never"},
	}
	got, err := json.Marshal(batch.Outcomes(records))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"name":"late","node":"n","work":2,"startup":0.5,"memory":1048576,"created":2,"bound":2.5,"running":3,"done":5.25,"failed":true},` +
		`{"name":"first","node":"","work":0,"startup":0,"memory":0,"created":0},` +
		`{"name":"never","node":"","work":0,"startup":0,"memory":0}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
