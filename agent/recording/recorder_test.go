package recording_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
)

// contents summarizes a recording.
type contents struct {
	records, lost uint64
	gaps          int
}

func count(t *testing.T, dir string) (c contents) {
	t.Helper()
	r, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		c.records++
		if rec.Kind == recording.KindGap {
			c.gaps++
			c.lost += rec.Lost
		}
	}
	return c
}

// TestGap runs a node with more pods than a record holds: the recording has a gap record, and the rest
// replays.
func TestGap(t *testing.T) {
	gaps := 3
	if testing.Short() {
		gaps = 1
	}
	dir := t.TempDir()
	n := newNode(t, 12, config(), dir, recording.Options{Buffer: roomy})
	for range gaps {
		n.ticks(200, .1)
		few := slices.Clone(n.pods)
		n.pods = nil
		for i := range 110_000 {
			n.pods = append(n.pods, agent.RunningPods(reserve.PodKey(i))...)
		}
		n.recorder.Pods(n.at, n.pods)
		n.report(n.pipeline.Pods(n.at, n.pods))
		n.ticks(10, 0)
		n.pods = few
		n.recorder.Pods(n.at, n.pods)
		n.report(n.pipeline.Pods(n.at, n.pods))
	}
	n.ticks(200, .1)
	n.close()
	s, c := n.recorder.Stats(), count(t, dir)
	if c.gaps != gaps || c.lost < 10*uint64(gaps) || c.lost != s.Lost || c.records != s.Records {
		t.Errorf("got %+v in the recording, %+v from the recorder", c, s)
	}
	if o := replay(t, dir, nil); o.pairs < 10*(gaps+1) || o.different != 0 {
		t.Errorf("replay: %+v", o)
	}
	if o := replay(t, dir, func(c *agent.Config) { c.Avail.Caution = 2 }); o.pairs < 10*(gaps+1) {
		t.Errorf("replay with other options: %+v", o)
	}
}

// A state with more pods than a record holds, running or ended, is not encoded again for each sample
// lost meanwhile.
func TestHugeStateIsNotEncoded(t *testing.T) {
	var running, ended agent.State
	const many = 20_000
	running.Pods, ended.Ended = slices.Grow(running.Pods, many)[:many], slices.Grow(ended.Ended, many)[:many]
	for name, huge := range map[string]agent.State{"running": running, "ended": ended} {
		var state agent.State
		o := recording.Options{State: func() agent.State { return state }, FileSize: 4 << 10, Buffer: roomy}
		r, err := recording.Create(t.TempDir(), config(), o)
		if err != nil {
			t.Fatal(err)
		}
		at, y := start, []float64{.5, .5}
		sample := func() {
			at = at.Add(100 * time.Millisecond)
			r.Sample(at, y)
		}
		sample()
		state = huge
		for range 1000 { // until a new file is due
			sample()
		}
		if a := testing.AllocsPerRun(10, sample); a != 0 {
			t.Errorf("%s: %v allocations a sample, want none", name, a)
		}
		if s := r.Stats(); s.Lost == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFlood fills a small buffer as fast as it can: records without room are counted as lost.
func TestFlood(t *testing.T) {
	dir := t.TempDir()
	n := newNode(t, 8, config(), dir, recording.Options{Buffer: 4 << 10, FileSize: 50_000}.WithFlush(time.Hour))
	floods := 20
	if testing.Short() {
		floods = 4
	}
	for range floods {
		n.ticks(300, .1)
		deadline := time.Now().Add(time.Minute)
		before := n.recorder.Stats().Records
		for n.recorder.Stats().Records == before && time.Now().Before(deadline) {
			n.tick(.1) // the writer was woken, so there will be room
		}
	}
	n.close()
	s, c := n.recorder.Stats(), count(t, dir)
	if c.records != s.Records {
		t.Errorf("got %d records, the recorder counted %d", c.records, s.Records)
	}
	if c.lost > s.Lost {
		t.Errorf("got %d lost records by the gaps, the recorder counted %d", c.lost, s.Lost)
	}
	if o := replay(t, dir, nil); o.pairs == 0 || o.different != 0 {
		t.Errorf("replay: %+v", o)
	}
}

// TestDiskFails removes the directory for a while.
func TestDiskFails(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "recording")
	n := newNode(t, 9, config(), dir, recording.Options{FileSize: 10_000}.WithFlush(time.Millisecond))
	until := func(what string, reached func(recording.Stats) bool) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for !reached(n.recorder.Stats()) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v after a minute", what, n.recorder.Stats())
			}
			n.ticks(10, .1)
			time.Sleep(time.Millisecond)
		}
	}
	until("a second file", func(s recording.Stats) bool { return s.Files > 1 })
	away := filepath.Join(parent, "away")
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	until("a loss", func(s recording.Stats) bool { return s.Lost > 20 && s.Err != nil })
	if err := os.Rename(away, dir); err != nil {
		t.Fatal(err)
	}
	recovered := n.recorder.Stats().Files + 2
	until("recovery", func(s recording.Stats) bool { return s.Files >= recovered && s.Err == nil })
	n.close()
	if c := count(t, dir); c.gaps == 0 || c.lost == 0 {
		t.Errorf("got %+v, want a gap", c)
	}
	if o := replay(t, dir, nil); o.pairs == 0 || o.different != 0 {
		t.Errorf("replay: %+v", o)
	}
}

// TestBounded writes far more than the limit of kept bytes.
func TestBounded(t *testing.T) {
	dir := t.TempDir()
	o := recording.Options{FileSize: 20_000, TotalSize: 60_000, Buffer: roomy}
	for incarnation := range uint64(2) {
		c := config()
		c.Incarnation += incarnation
		n := newNode(t, incarnation, c, dir, o)
		n.ticks(5000, .05)
		n.close()
	}
	total := int64(0)
	for _, path := range files(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 60_000+1000 || total < 20_000 {
		t.Errorf("got %d bytes kept, want at most 60,000 and a record", total)
	}
	if out := replay(t, dir, nil); out.pairs == 0 || out.different != 0 {
		t.Errorf("replay of the rest: got %+v", out)
	}
}

// TestRestart records with three agents into one directory.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	reports := 0
	for i := range uint64(3) {
		c := config()
		c.Incarnation = 10 + i
		n := newNode(t, i, c, dir, recording.Options{})
		n.recorder.Mark(n.at, "started")
		n.ticks(200, .1)
		n.close()
		reports += n.reports
	}
	if o := replay(t, dir, nil); o.pairs != reports || o.different != 0 {
		t.Errorf("%d reports, replayed %+v", reports, o)
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	n := newNode(t, 10, config(), t.TempDir(), recording.Options{Buffer: roomy, FileSize: roomy}.WithFlush(time.Hour))
	var last agent.Report
	n.visit = func(r agent.Report) { last = r }
	n.ticks(200, .2)
	y, pods := []float64{.5, .5}, n.pods
	if a := testing.AllocsPerRun(1000, func() {
		n.at = n.at.Add(time.Millisecond)
		n.recorder.Sample(n.at, y)
		n.recorder.Churn(n.at)
		n.recorder.Pods(n.at, pods)
		n.recorder.Report(last)
	}); a != 0 {
		t.Errorf("%v allocations a sample, churn, pods and report, want none", a)
	}
}

func TestCreateRejects(t *testing.T) {
	p, err := agent.New(config())
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]recording.Options{
		"State":     {},
		"FileSize":  {State: p.State, FileSize: 1},
		"TotalSize": {State: p.State, FileSize: 1 << 20, TotalSize: 1 << 20},
		"Buffer":    {State: p.State, Buffer: 1},
	} {
		var fe *field.Error
		if _, err := recording.Create(t.TempDir(), config(), o); !errors.As(err, &fe) || fe.Field != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var fe *field.Error
	if _, err := recording.Create(t.TempDir(), agent.Config{}, recording.Options{State: p.State}); !errors.As(err, &fe) {
		t.Errorf("config: error %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := recording.Create(file, config(), recording.Options{State: p.State}); err == nil {
		t.Error("a file was accepted as the directory")
	}
}

func BenchmarkSample(b *testing.B) {
	n := newNode(b, 11, config(), b.TempDir(), recording.Options{Buffer: 64 << 20}) // so that the disk is not measured
	y := []float64{.4, .2}
	b.ReportAllocs()
	for b.Loop() {
		n.at = n.at.Add(100 * time.Millisecond)
		n.recorder.Sample(n.at, y)
	}
}
