package recording_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

// roomy is a buffer size that a test cannot fill before the buffer is written.
const roomy = 16 << 20

func files(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+recording.Ext))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// configs differ in the number of channels, the estimator's options and more.
func configs() map[string]agent.Config {
	eager, wide, alone, many := config(), config(), config(), config()
	eager.Estimator.Spread, eager.Estimator.LevelDrift = .1, .03
	eager.Avail.Caution, eager.Avail.Allowance = capacity.NoCaution, .5
	for _, name := range []string{"io", "network", "a", "b", "c"} {
		wide.Channels = append(wide.Channels, agent.Channel{Name: name, Size: 1, Prior: .1})
	}
	wide.Model.Rank = 3
	for i := range 22 { // enough to truncate the model
		many.Channels = append(many.Channels, agent.Channel{Name: "c" + strconv.Itoa(i), Size: 1, Prior: .1})
	}
	alone.Channels = alone.Channels[:1]
	alone.OwnModel, alone.Model.Block = true, 7
	rejects, ranked := config(), wide
	rejects.Pronto = &pronto.Config{Window: time.Second}
	ranked.Pronto = &pronto.Config{Model: svd.Options{Rank: 2, Block: 7, HalfLife: 10}, Detector: pronto.DetectorConfig{Lag: 17, Threshold: 3}, Signed: true}
	return map[string]agent.Config{
		"default": config(), "eager": eager, "wide": wide, "alone": alone, "many": many,
		"pronto": rejects, "pronto of rank 2": ranked,
	}
}

// TestReplayIsIdentical records random events and replays them, the whole recording and each rotated
// file by itself.
func TestReplayIsIdentical(t *testing.T) {
	seeds, ticks := uint64(4), 6000
	if testing.Short() {
		seeds, ticks = 2, 4000
	}
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				dir := t.TempDir()
				n := newNode(t, seed, c, dir, recording.Options{FileSize: 20_000 + 1_000*int64(len(c.Channels)), Buffer: roomy})
				n.invalid = seed%2 == 1
				n.ticks(ticks/len(c.Channels), .05)
				n.close()
				if s := n.recorder.Stats(); s.Lost > 0 {
					t.Fatalf("%+v: the test's buffer is too small", s)
				}
				paths := files(t, dir)
				if len(paths) < 3 {
					t.Fatalf("%d files, want some", len(paths))
				}
				if o := replay(t, dir, nil); o.pairs != n.reports || o.different != 0 || len(o.torn) != 0 {
					t.Errorf("seed %d: %d reports, replayed %+v", seed, n.reports, o)
				}
				sum := 0
				for _, path := range paths {
					o := replay(t, path, nil)
					if sum += o.pairs; o.different != 0 || len(o.torn) != 0 {
						t.Errorf("seed %d, %s alone: %+v", seed, path, o)
					}
				}
				if sum != n.reports {
					t.Errorf("seed %d: %d reports in the files alone, want %d", seed, sum, n.reports)
				}
			}
		})
	}
}

// TestTruncated cuts a small recording at every byte: the rest replays.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	n := newNode(t, 5, config(), dir, recording.Options{})
	n.ticks(40, .1)
	n.close()
	whole, err := os.ReadFile(files(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	ends := map[int]bool{len(whole): true} // cuts between records
	last, seen := 0, 0
	for cut := range whole {
		o := compare(t, recording.NewReader(bytes.NewReader(whole[:cut])), nil)
		switch {
		case o.different > 0:
			t.Fatalf("cut at %d: %+v", cut, o)
		case o.pairs < last:
			t.Fatalf("cut at %d: %d reports, %d with less of the file", cut, o.pairs, last)
		case len(o.torn) == 0:
			ends[cut] = true
		}
		last = o.pairs
		seen++
	}
	records := 0
	for _, err := range recording.NewReader(bytes.NewReader(whole)).Records() {
		if err != nil {
			t.Fatal(err)
		}
		records++
	}
	if len(ends) != records {
		t.Errorf("got %d of %d cuts undetected, want one after each of %d records", len(ends), seen, records)
	}
}

// TestFlippedByte damages every byte in turn, short runs every eighth: the checksum or the preamble
// detects it.
func TestFlippedByte(t *testing.T) {
	dir := t.TempDir()
	n := newNode(t, 6, config(), dir, recording.Options{})
	n.ticks(30, .2)
	n.close()
	whole, err := os.ReadFile(files(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() {
		step = 8
	}
	for i := 0; i < len(whole); i += step {
		damaged := slices.Clone(whole)
		damaged[i] ^= 0x10
		var torn *recording.TornError
		var format *recording.FormatError
		found := false
		for _, err := range recording.NewReader(bytes.NewReader(damaged)).Records() {
			found = found || errors.As(err, &torn) || errors.As(err, &format)
		}
		if !found {
			t.Errorf("flipped byte %d was not detected", i)
		}
	}
}

// TestOverride replays a recording with other options: from its start, the node equals one that always
// had them.
func TestOverride(t *testing.T) {
	override := func(c *agent.Config) {
		c.Avail.Caution, c.Estimator.Spread, c.PodsPerCore, c.Model.Block = capacity.NoCaution, .1, 2, 8
	}
	dir := t.TempDir()
	n := newNode(t, 8, config(), dir, recording.Options{FileSize: 20_000, Buffer: roomy})
	n.ticks(3000, .03)
	n.close()
	c := config()
	override(&c)
	var want []agent.Report
	reference := newNode(t, 8, c, t.TempDir(), recording.Options{Buffer: roomy})
	reference.visit = func(r agent.Report) { want = append(want, r) }
	reference.ticks(3000, .03)
	reference.close()

	r, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []agent.Report
	for pair, err := range recording.Replay(r, override) {
		if err != nil {
			t.Fatal(err)
		}
		if pair.Replayed != nil {
			got = append(got, *pair.Replayed)
		}
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("rerun with other options (-a node that has them +replay):\n%s", d)
	}
	for _, path := range files(t, dir) { // from a later snapshot the states that an option shapes start again
		if o := replay(t, path, override); o.pairs == 0 {
			t.Errorf("%s alone: no reports with other options", path)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := recording.Open(dir); !errors.Is(err, recording.ErrEmpty) {
		t.Errorf("empty directory: got error %v", err)
	}
	if _, err := recording.Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: got error %v", err)
	}
	for name, text := range map[string]string{
		"another file":    "\x7fELF.............................",
		"another version": "\x89SPZREC\n\x01\x00...",
	} {
		var format *recording.FormatError
		if _, err := recording.NewReader(bytes.NewReader([]byte(text))).Next(); !errors.As(err, &format) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := recording.NewReader(bytes.NewReader(nil))
	var torn *recording.TornError
	if _, err := r.Next(); !errors.As(err, &torn) {
		t.Errorf("empty file: got error %v", err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the empty file: got error %v", err)
	}
}

// TestOverrideOfTheSignal replays the recording of a node that counted room as one that follows
// Pronto's signal, and the reverse.
func TestOverrideOfTheSignal(t *testing.T) {
	follows := config()
	follows.Pronto = &pronto.Config{Detector: pronto.DetectorConfig{Threshold: 2}}
	for name, c := range map[string]struct{ recorded, replayed agent.Config }{
		"to pronto": {config(), follows}, "to room": {follows, config()},
	} {
		dir := t.TempDir()
		n := newNode(t, 3, c.recorded, dir, recording.Options{Buffer: roomy})
		n.ticks(500, 0)
		n.close()
		var want []agent.Report
		reference := newNode(t, 3, c.replayed, t.TempDir(), recording.Options{Buffer: roomy})
		reference.visit = func(r agent.Report) { want = append(want, r) }
		reference.ticks(500, 0)
		reference.close()
		var got []agent.Report
		r, err := recording.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for pair, err := range recording.Replay(r, func(o *agent.Config) { o.Pronto = c.replayed.Pronto }) {
			if err != nil {
				t.Fatal(err)
			}
			if pair.Replayed != nil {
				got = append(got, *pair.Replayed)
			}
		}
		r.Close()
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || len(got) < 50 {
			t.Errorf("%s: %d reports (-node that always had the option +replay):\n%s", name, len(got), d)
		}
		if rejects := slices.ContainsFunc(got, func(r agent.Report) bool { return r.Limiting == agent.LimitingPronto && r.Avail == 0 }); rejects == (c.replayed.Pronto == nil) {
			t.Errorf("%s: rejected: %v", name, rejects)
		}
	}
}
