package modelserver_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
)

// TestMeansAreStored: a snapshot has the mean of a centred model unchanged.
func TestMeansAreStored(t *testing.T) {
	want := []aggregate.Entry{{
		Node: "c", Incarnation: 1, Schema: "cpu,memory", Dim: 2, Weight: 1, Moments: []float64{.1, 0, .1}, Mean: []float64{.25, .75},
	}}
	var file bytes.Buffer
	if err := modelserver.WriteSnapshot(&file, modelserver.Snapshot{Written: time.Now(), Entries: want}); err != nil {
		t.Fatal(err)
	}
	got, err := modelserver.ReadSnapshot(&file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.Entries); d != "" {
		t.Errorf("entries (-written +read):\n%s", d)
	}
}
