package recording_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/reserve"
)

// parts records a node in several files.
func parts(t *testing.T, seed uint64) (dir string, paths []string, reports int) {
	t.Helper()
	dir = t.TempDir()
	n := newNode(t, seed, config(), dir, recording.Options{FileSize: 20_000, Buffer: roomy})
	n.ticks(2000, .05)
	n.close()
	paths = files(t, dir)
	if len(paths) < 4 {
		t.Fatalf("%d files, want four", len(paths))
	}
	return dir, paths, n.reports
}

// TestMissingPart replays the rest of a recording of which a file is missing, truncated or invalid.
func TestMissingPart(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"torn":    func(path string) error { return os.Truncate(path, 9000) },
		"empty":   func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, paths, reports := parts(t, 1)
			if err := damage(paths[1]); err != nil {
				t.Fatal(err)
			}
			o := replay(t, dir, nil)
			if o.different != 0 || o.pairs == 0 || o.pairs >= reports || len(o.torn) > 1 || len(o.torn) == 0 && name != "missing" {
				t.Errorf("%d reports, replayed %+v", reports, o)
			}
		})
	}
	t.Run("foreign", func(t *testing.T) {
		dir, paths, _ := parts(t, 1)
		if err := os.WriteFile(paths[1], []byte("not a recording, but as long as one"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := recording.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		pairs, refused := 0, 0
		for pair, err := range recording.Replay(r, nil) {
			var format *recording.FormatError
			switch {
			case errors.As(err, &format) && format.Path == paths[1]:
				refused++
			case err != nil:
				t.Fatal(err)
			case !pair.Identical():
				t.Fatalf("%+v", pair)
			default:
				pairs++
			}
		}
		if refused != 1 || pairs == 0 {
			t.Errorf("%d files refused, %d reports", refused, pairs)
		}
	})
}

// TestDrift replaces the second file by one of another node's day: its snapshot is not the state that
// the first file leads to.
func TestDrift(t *testing.T) {
	dir, paths, _ := parts(t, 1)
	_, others, _ := parts(t, 2)
	if err := os.Rename(others[1], paths[1]); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	drifts := 0
	for _, err := range recording.Replay(r, nil) {
		var drift *recording.DriftError
		if errors.As(err, &drift) {
			drifts++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if drifts != 2 { // one into the other day and one back
		t.Errorf("%d drifts, want 2", drifts)
	}
}

func TestDifference(t *testing.T) {
	report := func() agent.Report {
		return agent.Report{
			Node: "n", Incarnation: 1, Sequence: 2, SampledAt: start, Schema: "s", Avail: 3, K: 4, Limiting: "cpu",
			Pods: []reserve.PodKey{7}, Channels: []agent.ChannelReport{{Name: "cpu", Usage: .5}},
		}
	}
	local := report()
	local.SampledAt = start.In(time.FixedZone("elsewhere", 3600))
	if text, differs := recording.Difference(report(), local); differs {
		t.Errorf("the same moment in another time zone: got difference %s", text)
	}
	nan := report()
	nan.Avail = math.NaN()
	if text, differs := recording.Difference(nan, nan); differs {
		t.Errorf("the same bits: got difference %s", text)
	}
	for field, edit := range map[string]func(*agent.Report){
		"Node":          func(r *agent.Report) { r.Node = "m" },
		"Incarnation":   func(r *agent.Report) { r.Incarnation++ },
		"Sequence":      func(r *agent.Report) { r.Sequence++ },
		"SampledAt":     func(r *agent.Report) { r.SampledAt = start.Add(1) },
		"Schema":        func(r *agent.Report) { r.Schema = "" },
		"Avail":         func(r *agent.Report) { r.Avail = math.Nextafter(3, 4) },
		"Allowance":     func(r *agent.Report) { r.Allowance = math.Copysign(0, -1) },
		"Pods":          func(r *agent.Report) { r.Pods = []reserve.PodKey{8} },
		"Saturated":     func(r *agent.Report) { r.Saturated = true },
		"K":             func(r *agent.Report) { r.K = 0 },
		"Limiting":      func(r *agent.Report) { r.Limiting = "" },
		"Flags":         func(r *agent.Report) { r.Flags.Churn = true },
		"Power":         func(r *agent.Report) { r.Power.Watts = math.Copysign(0, -1) },
		"PodCores":      func(r *agent.Report) { r.PodCores = []float32{1} },
		"PodWatts":      func(r *agent.Report) { r.PodWatts = []float32{0} },
		"len(Channels)": func(r *agent.Report) { r.Channels = nil },
		"Channels[0]":   func(r *agent.Report) { r.Channels[0].CostSD = 1 },
	} {
		other := report()
		edit(&other)
		if text, differs := recording.Difference(report(), other); !differs || !strings.HasPrefix(text, field+": ") {
			t.Errorf("%s: %q, %v", field, text, differs)
		}
	}
}
