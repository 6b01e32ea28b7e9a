package node_test

import (
	"testing"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
)

// replays returns the reports of the recording at path, replayed. It fails the test if a report differs
// from the recorded one, and if there is none.
func replays(t testing.TB, path string) (reports []agent.Report) {
	t.Helper()
	reader, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for pair, err := range recording.Replay(reader, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if !pair.Identical() {
			t.Fatalf("replayed at %v: got a different report", pair.At())
		}
		reports = append(reports, *pair.Replayed)
	}
	if len(reports) == 0 {
		t.Fatal("no report in the recording")
	}
	return reports
}
