package recording_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
)

// TestDay runs a node for 24 simulated hours at 10 Hz (three in short runs), records and replays it:
// the memory does not grow, every number is finite, the reports are the same.
func TestDay(t *testing.T) {
	const hour = 36_000
	hours := 24
	if testing.Short() {
		hours = 3
	}
	dir := t.TempDir()
	// A buffer for the whole day, which takes only seconds, so the speed of the disk does not matter.
	n := newNode(t, 24, config(), dir, recording.Options{Buffer: 48 << 20})
	n.visit = func(r agent.Report) {
		checkFinite(t, r)
		if w, ok := n.pipeline.Why(); r.Sequence%1000 == 0 && (!ok || w.Sequence != r.Sequence || w.Avail != r.Avail) {
			t.Errorf("report %d is explained by %+v", r.Sequence, w)
		}
	}
	n.ticks(hour, .005)
	before := heap()
	n.ticks((hours-1)*hour, .005)
	after := heap()
	if drift := after - before; drift > 1<<20 {
		t.Errorf("%d bytes after an hour, %d more after %d hours", before, drift, hours)
	}
	n.close()
	if s := n.recorder.Stats(); s.Lost != 0 {
		t.Errorf("%+v: want nothing lost", s)
	}
	if o := replay(t, dir, nil); o.pairs != n.reports || o.different != 0 {
		t.Errorf("%d reports, replayed %+v", n.reports, o)
	}
	t.Logf("%d hours, %d reports; heap %d B after the first, %+d B at the end; %+v", hours, n.reports, before, after-before, n.recorder.Stats())
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func checkFinite(t *testing.T, r agent.Report) {
	t.Helper()
	values := []float64{r.Avail, r.Allowance, r.K}
	for _, c := range r.Channels {
		values = append(values, c.Usage, c.Capacity, c.Cost, c.CostSD)
	}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("report %d at %s: %+v", r.Sequence, r.SampledAt, r)
		}
	}
}
