//go:build realnode && linux

package realnode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
)

// A recording of the node's agent through bursts of pods replays its reports bit for bit.
func TestBursts(t *testing.T) {
	dir := *record
	if dir == "" {
		dir = filepath.Join(node.work, "recording")
		*record = dir
		defer func() { *record = "" }()
	}
	if installed {
		uninstall(t)
	}
	install(t)
	const bursts, each = 3, 8
	for range bursts {
		quiet(t)
		f := newFates()
		f.submit(t, "burst", each, func(name string) *corev1.Pod { return worker(name, spazio, "-cpu=1s") })
		f.wait(t, each)
		b := f.figures(t)
		t.Logf("makespan %.1f s, mean run %.1f s, %d at once", b.Makespan, b.Run, b.AtOnce)
		removeBatch(t, "burst")
	}
	// The agent exits cleanly, and so its file is complete.
	uninstall(t)
	s, raw := replayed(t, dir)
	note(t, t.Name(), raw)
	t.Logf("%d samples, %d events of pods, %d reports in %d files", s.Samples, s.Churn, s.Recorded.Reports, s.Files)
	if s.Different != 0 || s.Lost != 0 || len(s.Torn) != 0 {
		t.Errorf("got %d of %d differing reports, the first: %s; %d lost records; torn %v", s.Different, s.Recorded.Reports, s.First, s.Lost, s.Torn)
	}
	// The pods of a burst come and go one by one at least.
	if s.Recorded.Reports == 0 || s.Replayed.Reports != s.Recorded.Reports || s.Churn < bursts*each {
		t.Errorf("%+v", s)
	}
}

// replaySummary is what the test reads of the JSON summary of `spazio-lab replay`.
type replaySummary struct {
	Files, Samples     int
	Churn              int    `json:"churnEvents"`
	Lost               uint64 `json:"recordsLost"`
	Torn               []string
	Recorded, Replayed struct{ Reports int }
	Different          int
	First              string `json:"firstDifference"`
}

// replayed returns the summary of `spazio-lab replay --verify` for a recording.
func replayed(t *testing.T, dir string) (s replaySummary, raw json.RawMessage) {
	t.Helper()
	var out bytes.Buffer
	c := lab.NewCommand()
	c.SetArgs([]string{"replay", "--verify", "--output", "json", dir})
	c.SetOut(&out)
	c.SetErr(os.Stderr)
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return s, out.Bytes()
}
