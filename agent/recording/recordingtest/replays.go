// Package recordingtest holds recordings to their promise: replayed, an agent reports what it
// reported, bit for bit.
package recordingtest

import (
	"testing"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
)

// Replays returns the reports of the recording at path, replayed. It fails the test where one
// is not what was recorded, and if there is none.
func Replays(t testing.TB, path string) (reports []agent.Report) {
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
			t.Fatalf("replayed at %v: another report", pair.At())
		}
		reports = append(reports, *pair.Replayed)
	}
	if len(reports) == 0 {
		t.Fatal("no report in the recording")
	}
	return reports
}
