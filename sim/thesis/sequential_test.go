package thesis_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/thesis"
	"github.com/spazio-scheduler/spazio/svd"
)

var noon = time.Unix(43200, 0)

func sequential(t *testing.T, o aggregate.Options) thesis.Aggregator {
	t.Helper()
	a, err := thesis.NewAggregator(thesis.AggregateConfig{Policy: thesis.Sequential, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func push(t *testing.T, a thesis.Aggregator, at time.Time, l aggregate.Local) {
	t.Helper()
	if taken, err := a.Put(at, l); err != nil || !taken {
		t.Fatalf("%+v: %v, %v", l, taken, err)
	}
}

func merged(t *testing.T, a thesis.Aggregator, at time.Time) []aggregate.Global {
	t.Helper()
	globals, err := a.Globals(at)
	if err != nil {
		t.Fatal(err)
	}
	return globals
}

// TestSequential checks the thesis's arithmetic: the node k places before the
// last weighs 2^-(k+1), the first as much as the second.
func TestSequential(t *testing.T) {
	a := sequential(t, aggregate.Options{})
	for i := range 3 {
		u := make([]float64, 3)
		u[i] = 1
		push(t, a, noon, aggregate.Local{Node: fmt.Sprint(i), Schema: "s", Model: svd.State{Dim: 3, Block: 10, Mass: 2, U: u, Sigma: []float64{1}}})
	}
	want := []float64{.25, 0, 0, 0, .25, 0, 0, 0, .5}
	g := merged(t, a, noon)
	if len(g) != 1 || g[0].Nodes != 3 {
		t.Fatalf("%+v", g)
	}
	if diff := cmp.Diff(want, g[0].Model.MomentsTo(nil), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSequentialBlends: models of random samples equal those of svd.Blend, half and half.
func TestSequentialBlends(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	a := sequential(t, aggregate.Options{})
	var want svd.Model
	for n := range 6 {
		samples := make([][]float64, 10)
		for i := range samples {
			samples[i] = []float64{rng.Float64(), rng.Float64(), .1 * rng.Float64()}
		}
		m, err := svd.Update(svd.Model{}, samples, svd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		push(t, a, noon, aggregate.Local{Node: fmt.Sprint(n), Schema: "s", Model: m.State(), Costs: []aggregate.Cost{{Value: 1, SD: 1, Known: true}, {}, {}}})
		if n == 0 {
			want = m
		} else if want, err = svd.Blend(want, m, .5); err != nil {
			t.Fatal(err)
		}
	}
	g := merged(t, a, noon)[0]
	if diff := cmp.Diff(want.MomentsTo(nil), g.Model.MomentsTo(nil), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(g.Costs) != 3 || !g.Costs[0].Known { // all but the model is package aggregate's
		t.Errorf("costs %+v", g.Costs)
	}
}

// TestSequentialForgets: with the last node of a schema its model is gone.
func TestSequentialForgets(t *testing.T) {
	a := sequential(t, aggregate.Options{Forget: time.Minute})
	of := func(node string, u ...float64) aggregate.Local {
		return aggregate.Local{Node: node, Schema: "s", Model: svd.State{Dim: 2, Block: 10, Mass: 1, U: u, Sigma: []float64{1}}}
	}
	push(t, a, noon, of("a", 1, 0))
	later := noon.Add(time.Hour)
	if g := merged(t, a, later); len(g) != 0 {
		t.Errorf("an hour of silence left %+v", g)
	}
	push(t, a, later, of("b", 0, 1))
	if diff := cmp.Diff([]float64{0, 0, 0, 1}, merged(t, a, later)[0].Model.MomentsTo(nil), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("what was forgotten is in it (-want +got):\n%s", diff)
	}
}

func TestPoliciesRefuse(t *testing.T) {
	var bad *field.Error
	for name, c := range map[string]thesis.AggregateConfig{
		"Policy":   {Policy: "newest"},
		"HalfLife": {Options: aggregate.Options{HalfLife: -1}},
	} {
		if _, err := thesis.NewAggregator(c); !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("%+v: %v, want a *field.Error of %s", c, err, name)
		}
	}
	for _, p := range []thesis.Policy{"", thesis.PerNode} {
		if a, err := thesis.NewAggregator(thesis.AggregateConfig{Policy: p}); err != nil || a == nil {
			t.Errorf("policy %q: %v", p, err)
		}
	}
	centred := svd.State{Dim: 1, Block: 10, Mass: 1, U: []float64{1}, Sigma: []float64{1}, Mean: []float64{.5}}
	if _, err := sequential(t, aggregate.Options{}).Put(noon, aggregate.Local{Node: "a", Schema: "s", Model: centred}); !errors.Is(err, thesis.ErrPolicy) {
		t.Errorf("a centred model: %v", err)
	}
}
