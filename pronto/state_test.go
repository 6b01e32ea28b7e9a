package pronto_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

// stored returns a tracker restored from another's state via JSON.
func stored(t *testing.T, c pronto.Config, tracker *pronto.Tracker) *pronto.Tracker {
	t.Helper()
	text, err := json.Marshal(tracker.State())
	if err != nil {
		t.Fatal(err)
	}
	var s pronto.State
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	next, err := pronto.FromState(c, s)
	if err != nil {
		t.Fatalf("%v of %s", err, text)
	}
	if diff := cmp.Diff(tracker.State(), next.State()); diff != "" {
		t.Fatalf("state (-stored +restored):\n%s", diff)
	}
	return next
}

// TestStateContinues stops trackers at many moments, before the first block, within one, with an
// adaptive rank, an adopted basis and a standing rejection, and continues from their stored states
// beside trackers that never stopped.
func TestStateContinues(t *testing.T) {
	fleet := newTracker(t, pronto.Config{})
	other := newSource(5, 4, .1, .1, .3, .02)
	for i := range 40 {
		step(t, fleet, i, other.draw())
	}
	for name, c := range map[string]pronto.Config{
		"default": {Window: 300 * time.Millisecond},
		"rank":    {Model: svd.Options{Rank: 2, Block: 7}, Detector: pronto.DetectorConfig{Lag: 12, Threshold: 2}},
		"energy":  {Model: svd.Options{EnergyLow: .5, EnergyHigh: .9}, Weight: pronto.WeightEnergy, Signed: true},
	} {
		for stop := range 60 {
			src := newSource(uint64(stop), 4, .3, .2, .05, .1)
			one := newTracker(t, c)
			raised := false
			for i := range 120 {
				if i == 35 && stop%2 == 0 {
					adopt(t, one, fleet.Model())
				}
				y := src.draw()
				if i%17 == 16 {
					y[i%4] += 5
				}
				if i != stop {
					raised = step(t, one, i, y).Reject || raised
					continue
				}
				next := stored(t, c, one)
				for k := i; k < i+50; k++ {
					if y = src.draw(); k%11 == 0 {
						y[2]++
					}
					a, b := step(t, one, k, y), step(t, next, k, y)
					if diff := cmp.Diff(a, b); diff != "" {
						t.Fatalf("%s, stopped at %d: sample %d differs (-one +restored):\n%s", name, stop, k, diff)
					}
				}
				if diff := cmp.Diff(one.State(), next.State()); diff != "" {
					t.Fatalf("%s, stopped at %d: the states differ:\n%s", name, stop, diff)
				}
				break
			}
			if stop == 59 && !raised {
				t.Errorf("%s: no sample was rejected", name)
			}
		}
	}
}

// TestStateIsACopy: a State and the tracker that it came from, or was restored to, do not change each
// other.
func TestStateIsACopy(t *testing.T) {
	src, tracker := newSource(1, 3, .1, .1, .1), newTracker(t, pronto.Config{})
	for i := range 25 {
		step(t, tracker, i, src.draw())
	}
	adopt(t, tracker, tracker.Model())
	s := tracker.State()
	before, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	next, err := pronto.FromState(pronto.Config{}, s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		step(t, tracker, 25+i, src.draw())
		step(t, next, 25+i, src.draw())
	}
	if after, _ := json.Marshal(s); string(after) != string(before) {
		t.Errorf("the state changed with a tracker:\n%s\n%s", before, after)
	}
}

func TestFromStateRefuses(t *testing.T) {
	src := newSource(1, 3, .1, .1, .1)
	c := pronto.Config{Model: svd.Options{Unit: true, Block: 4}, Detector: pronto.DetectorConfig{Lag: 5}}
	unit := func() []float64 {
		y := src.draw()
		for i := range y {
			y[i] = min(max(y[i], 0), 1)
		}
		return y
	}
	for _, tt := range []struct {
		name  string
		cause error
		edit  func(*pronto.State)
	}{
		{"State.Version", pronto.ErrRange, func(s *pronto.State) { s.Version++ }},
		{"State.Dim", pronto.ErrRange, func(s *pronto.State) { s.Dim = -1 }},
		{"State.Dim", pronto.ErrRange, func(s *pronto.State) { s.Dim = svd.MaxDim + 1 }},
		{"State.Model.Dim", pronto.ErrLength, func(s *pronto.State) { s.Dim = 4 }},
		{"State.Model", svd.ErrNotFinite, func(s *pronto.State) { s.Model.Sigma[0] = math.NaN() }},
		{"State.Model.Centred", pronto.ErrCentring, func(s *pronto.State) { s.Model.Mean = nil }},
		{"State.Adopted", svd.ErrRange, func(s *pronto.State) { s.Adopted = s.Model; s.Adopted.Mass = -1 }},
		{"State.Adopted.Centred", pronto.ErrCentring, func(s *pronto.State) { s.Adopted = s.Model; s.Adopted.Mean = nil }},
		{"State.len(Block)", pronto.ErrLength, func(s *pronto.State) { s.Block = s.Block[1:] }},
		{"State.len(Block)", pronto.ErrLength, func(s *pronto.State) { s.Block = make([]float64, 12) }},
		{"State.Block[1]", pronto.ErrRange, func(s *pronto.State) { s.Block[1] = 1.5 }},
		{"State.Block[0]", pronto.ErrNotFinite, func(s *pronto.State) { s.Block[0] = math.Inf(1) }},
		{"State.len(Windows)", pronto.ErrLength, func(s *pronto.State) { s.Windows = s.Windows[1:] }},
		{"State.len(Windows[2])", pronto.ErrLength, func(s *pronto.State) { s.Windows[2] = s.Windows[2][1:] }},
		{"State.len(Windows[0])", pronto.ErrLength, func(s *pronto.State) { s.Full = false }},
		{"State.Next", pronto.ErrRange, func(s *pronto.State) { s.Next = 5 }},
		{"State.Next", pronto.ErrRange, func(s *pronto.State) { s.Next = -1 }},
		{"State.Windows[1][3]", pronto.ErrNotFinite, func(s *pronto.State) { s.Windows[1][3] = math.NaN() }},
		{"State.Windows[1][3]", pronto.ErrRange, func(s *pronto.State) { s.Windows[1][3] = 1e101 }},
	} {
		tracker := newTracker(t, c)
		for i := range 14 {
			step(t, tracker, i, unit())
		}
		s := tracker.State()
		tt.edit(&s)
		_, err := pronto.FromState(c, s)
		var bad *field.Error
		if !errors.As(err, &bad) || bad.Field != tt.name || !errors.Is(err, tt.cause) {
			t.Errorf("%v, want %s: %v", err, tt.name, tt.cause)
		}
	}
	ranked := pronto.Config{Model: svd.Options{Rank: 3}}
	if _, err := pronto.FromState(ranked, pronto.State{Version: pronto.StateVersion, Dim: 2}); !errors.Is(err, pronto.ErrRange) {
		t.Errorf("rank 3 with 2 channels: got error %v", err)
	}
	if _, err := pronto.FromState(pronto.Config{Reject: 2}, pronto.State{Version: pronto.StateVersion}); !errors.Is(err, pronto.ErrRange) {
		t.Errorf("invalid config: got error %v", err)
	}
	if _, err := pronto.FromState(pronto.Config{}, pronto.State{Version: pronto.StateVersion, Block: []float64{1}}); !errors.Is(err, pronto.ErrLength) {
		t.Errorf("block without channels: got error %v", err)
	}
}

// TestReset: after a pause a new level is no peak, since there is nothing to compare it with, and the
// block starts again; directions stay, and so does a rejection.
func TestReset(t *testing.T) {
	src := newSource(3, 3, .1, .05, .01)
	c := pronto.Config{Window: time.Minute, Detector: pronto.DetectorConfig{Threshold: 6}}
	paused, on := newTracker(t, c), newTracker(t, c)
	for i := range 45 {
		y := src.draw()
		step(t, paused, i, y)
		step(t, on, i, y)
	}
	paused.Reset()
	sigma := paused.SigmaTo(nil)
	for i := 45; i < 50; i++ {
		y := src.draw()
		for k := range y {
			y[k] += 3
		}
		a, b := step(t, paused, i, y), step(t, on, i, y)
		if a.R != 0 || a.Reject || len(a.Flags) != 3 || i == 45 && b.R == 0 {
			t.Errorf("sample %d: got R = %g after the pause, %g without one, flags %v", i, a.R, b.R, a.Flags)
		}
	}
	if !cmp.Equal(paused.SigmaTo(nil), sigma) || cmp.Equal(on.SigmaTo(nil), sigma) {
		t.Errorf("the block did not start again: got σ = %v, before the pause %v", paused.SigmaTo(nil), sigma)
	}
	on.Reset()
	if s := step(t, on, 50, src.draw()); !s.Reject || s.R != 0 {
		t.Errorf("the pause ended the rejection: %+v", s)
	}
}

// FuzzState: any stored state is refused, or is restored and encoded the same.
func FuzzState(f *testing.F) {
	c := pronto.Config{Detector: pronto.DetectorConfig{Lag: 3}}
	tracker, err := pronto.New(c)
	if err != nil {
		f.Fatal(err)
	}
	src := newSource(1, 2, .1, .1)
	for i := range 14 {
		if _, err := tracker.Step(at(i), src.draw()); err != nil {
			f.Fatal(err)
		}
		text, err := json.Marshal(tracker.State())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s pronto.State
		if json.Unmarshal(text, &s) != nil {
			return
		}
		tracker, err := pronto.FromState(c, s)
		if err != nil {
			return
		}
		again, err := pronto.FromState(c, tracker.State())
		if err != nil {
			t.Fatalf("the tracker's own state was refused: %v", err)
		}
		for i := range 25 {
			y := make([]float64, max(s.Dim, 1))
			for k := range y {
				y[k] = float64(i*k%7) / 7
			}
			at := s.At.Add(time.Duration(i))
			a, err := tracker.Step(at, y)
			b, same := again.Step(at, y)
			if err != nil || same != nil || !cmp.Equal(a, b) {
				t.Fatalf("%v, %v: got %+v, restored again %+v", err, same, a, b)
			}
			if !(a.R >= 0 && a.R <= 1+1e-12) {
				t.Fatalf("R = %g", a.R)
			}
		}
	})
}
