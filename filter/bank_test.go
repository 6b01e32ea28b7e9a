package filter_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/filter"
)

// TestBankGoesOn hands the states of a bank to a fresh one in mid-run.
func TestBankGoesOn(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 50 {
		c := randomConfig(rng)
		first, err := filter.NewBank(2, c)
		if err != nil {
			t.Fatal(err)
		}
		second, err := filter.NewBank(2, c)
		if err != nil {
			t.Fatal(err)
		}
		xs, ys := signal(rng, 100), signal(rng, 100)
		for i := range xs {
			if i == 50 {
				if err := second.SetStates(first.StatesTo(nil)); err != nil {
					t.Fatal(err)
				}
			}
			want, err := first.StepTo(nil, []float64{xs[i], ys[i]})
			if err != nil {
				t.Fatal(err)
			}
			if i < 50 {
				continue
			}
			got, err := second.StepTo(nil, []float64{xs[i], ys[i]})
			if err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(want, got) {
				t.Fatalf("sample %d: %v, want %v", i, got, want)
			}
		}
	}
}

func TestSetStatesRejects(t *testing.T) {
	b, err := filter.NewBank(2, filter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.StepTo(nil, []float64{.1, .2}); err != nil {
		t.Fatal(err)
	}
	before := b.StatesTo(nil)
	good := filter.State{Level: .5, Started: true}
	for name, states := range map[string][]filter.State{
		"too few":  {good},
		"level":    {good, {Level: math.NaN()}},
		"scale":    {good, {Scale: -1}},
		"run":      {good, {Run: filter.DefaultN + 1}},
		"run down": {good, {Run: -filter.DefaultN - 1}},
	} {
		if err := b.SetStates(states); err == nil {
			t.Errorf("%s: error %v", name, err)
		}
		if d := cmp.Diff(before, b.StatesTo(nil)); d != "" {
			t.Errorf("%s: refused states left a trace:\n%s", name, d)
		}
	}
}
