package kalman_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/kalman"
)

// TestStatesContinue passes the states of an estimator to a fresh one midway: both then learn the same,
// to the last bit.
func TestStatesContinue(t *testing.T) {
	c := kalman.Config{}
	first, err := kalman.NewPerChannel(c, c)
	if err != nil {
		t.Fatal(err)
	}
	var second *kalman.PerChannel
	i := 0
	trace(rand.New(rand.NewPCG(4, 4)), 400, func(int) float64 { return .15 }, func(_ int, z, n float64) {
		if i++; i == 200 {
			if second, err = kalman.NewPerChannel(c, c); err == nil {
				err = second.SetStates(first.StatesTo(nil))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		o := kalman.Observation{Headroom: []float64{z, z / 2}, Pods: n, Churn: i%17 == 0}
		if err := first.Step(o); err != nil {
			t.Fatal(err)
		}
		if second == nil {
			return
		}
		if err := second.Step(o); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(first.StatesTo(nil), second.StatesTo(nil)); d != "" {
			t.Fatalf("step %d:\n%s", i, d)
		}
		if d := cmp.Diff(first.InnovationsTo(nil), second.InnovationsTo(nil)); d != "" {
			t.Fatalf("step %d:\n%s", i, d)
		}
	})
}

func TestSetStatesRejects(t *testing.T) {
	p, err := kalman.NewPerChannel(kalman.Config{}, kalman.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Step(kalman.Observation{Headroom: []float64{.5, .6}, Pods: 1}); err != nil {
		t.Fatal(err)
	}
	before := p.StatesTo(nil)
	if err := p.SetStates(before[:1]); !errors.Is(err, kalman.ErrLength) {
		t.Errorf("too few: got error %v", err)
	}
	bad := p.StatesTo(nil)
	bad[0].Level, bad[1].CostVar = .1, math.NaN()
	if err := p.SetStates(bad); !names(err, "State.CostVar") {
		t.Errorf("not a number: got error %v", err)
	}
	if d := cmp.Diff(before, p.StatesTo(nil)); d != "" {
		t.Errorf("refused states changed the estimator:\n%s", d)
	}
}

// TestInnovations compares them with the expectation of the previous state.
func TestInnovations(t *testing.T) {
	p, err := kalman.NewPerChannel(kalman.Config{})
	if err != nil {
		t.Fatal(err)
	}
	step := func(z, n float64, halt bool) (kalman.Innovation, kalman.Verdict) {
		if err := p.Step(kalman.Observation{Headroom: []float64{z}, Pods: n, Pause: halt}); err != nil {
			t.Fatal(err)
		}
		return p.InnovationsTo(nil)[0], p.VerdictsTo(nil)[0]
	}
	if in, v := step(.8, 1, false); in != (kalman.Innovation{}) || v != kalman.Taken {
		t.Errorf("first: %+v, %v", in, v)
	}
	s := p.StatesTo(nil)[0]
	if in, v := step(.81, 1, false); in.Value != .81-s.Level || !(in.Variance > s.LevelVar) || v != kalman.Taken {
		t.Errorf("second: %+v, %v after %+v", in, v, s)
	}
	if in, v := step(.2, 1, false); v != kalman.Outlier || !(in.Value*in.Value > kalman.DefaultGate*in.Variance) {
		t.Errorf("outlier: %+v, %v", in, v)
	}
	if in, v := step(.01, 9, false); in != (kalman.Innovation{}) || v != kalman.Censored {
		t.Errorf("censored: %+v, %v", in, v)
	}
	step(.2, 1, false)
	if in, v := step(.01, 9, true); in != (kalman.Innovation{}) || v != kalman.Frozen {
		t.Errorf("frozen: %+v, %v", in, v)
	}
}

func TestVerdictText(t *testing.T) {
	want := []kalman.Verdict{kalman.Taken, kalman.Frozen, kalman.Censored, kalman.Outlier}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got []kalman.Verdict
	if err := json.Unmarshal(text, &got); err != nil || string(text) != `["taken","frozen","censored","outlier"]` || !cmp.Equal(want, got) {
		t.Errorf("%s, %v, %v", text, got, err)
	}
	if err := new(kalman.Verdict).UnmarshalText([]byte("guilty")); err == nil {
		t.Error("an unknown verdict was decoded")
	}
	if _, err := kalman.Verdict(99).MarshalText(); !errors.Is(err, kalman.ErrInvalid) {
		t.Errorf("an unknown verdict was encoded: %v", err)
	}
}
