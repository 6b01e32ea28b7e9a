package modelserver_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

// TestProntoFederation: nodes that follow Pronto's signal push their models and adopt the fleet's. From
// then on their projections are those on the principal directions of all nodes' raw samples together.
func TestProntoFederation(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := start(t, modelserver.Config{Tick: time.Millisecond, Now: func() time.Time { return noon }})
	const nodes = 5
	pipelines, locals := make([]*agent.Pipeline, nodes), make([]agent.Local, nodes)
	rng := rand.New(rand.NewPCG(1, 2))
	var raw [][]float64
	for n := range pipelines {
		p, err := agent.New(agent.Config{
			Node: fmt.Sprint("n", n), Schema: "v2;cpu=half-runnable;io=busy;memory=available", Cores: 4, Pronto: &pronto.Config{},
			Channels: []agent.Channel{{Name: agent.CPU, Size: 4}, {Name: "io", Size: 1}, {Name: agent.Memory, Size: 8e9}},
		})
		if err != nil {
			t.Fatal(err)
		}
		level := .2 + .1*rng.Float64()
		for i := range 10 { // a block
			shared := rng.Float64()
			y := []float64{level + .4*shared, .3 + .1*rng.Float64() + .2*shared, .5 + .05*rng.Float64()}
			raw = append(raw, y)
			if _, _, err := p.Sample(noon.Add(time.Duration(i+1)*100*time.Millisecond), y); err != nil {
				t.Fatal(err)
			}
		}
		local, ok := p.Local()
		if !ok {
			t.Fatal("no model after a block")
		}
		pipelines[n], locals[n] = p, local
		push(t, s, local)
	}
	until(t, s, func(s modelserver.Stats) bool { return s.Nodes == nodes })
	pooled, err := svd.Update(svd.Model{}, raw, svd.Options{Block: len(raw), Centre: true})
	if err != nil {
		t.Fatal(err)
	}
	for n, p := range pipelines {
		fleet, err := api.ToFleet(push(t, s, locals[n]).GetGlobal())
		if err != nil || fleet.Nodes != nodes {
			t.Fatal(fleet, err)
		}
		at := noon.Add(time.Second + 100*time.Millisecond)
		if err := p.SetFleet(at, fleet); err != nil {
			t.Fatal(err)
		}
		y := []float64{.1 * float64(n), .4, .6}
		for i := range 10 { // until the next report
			if _, _, err := p.Sample(at.Add(time.Duration(i)*100*time.Millisecond), y); err != nil {
				t.Fatal(err)
			}
		}
		w, _ := p.Why()
		if !w.Pronto.Adopted || len(w.Pronto.Projection) != 3 {
			t.Fatalf("%+v", w.Pronto)
		}
		for j, v := range w.Pronto.Projection {
			want := 0.
			for i, u := range pooled.VectorTo(nil, j) {
				want += u * y[i]
			}
			if math.Abs(v-want) > 1e-9 {
				t.Errorf("node %d: got projection %d of %g, want %g as of the pooled samples", n, j, v, want)
			}
		}
	}
	d := s.Describe("").Models[0]
	for i, name := range []string{"cpu", "io", "memory"} {
		if c := d.Channels[i]; c.Name != name || c.Mean == nil || math.Abs(*c.Mean-pooled.MeanTo(nil)[i]) > 1e-12 {
			t.Errorf("got description %+v", c)
		}
	}
}

// TestMixedKinds: a model of another kind than its schema's is dropped, logged and counted, gets an
// empty answer, and is refused from replicas and snapshots, too.
func TestMixedKinds(t *testing.T) {
	refused := make(chan error, 1)
	s := start(t, modelserver.Config{Tick: time.Millisecond, OnError: func(err error) { refused <- err }})
	push(t, s, local("a", 0, 1))
	until(t, s, func(s modelserver.Stats) bool { return s.Nodes == 1 })
	other := local("b", 1, 1)
	other.Model.Mean = []float64{.5, .5}
	if response := push(t, s, other); response.GetGlobal() != nil {
		t.Errorf("got answer %v", response)
	}
	err := <-refused
	until(t, s, func(s modelserver.Stats) bool { return s.Mixed == 1 })
	if want := `aggregate: Model.Mean = true: centred and other models do not merge: schema "cpu,memory"`; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if stats := s.Stats(); stats.Dropped != 1 || stats.Nodes != 1 {
		t.Errorf("%+v", stats)
	}
	nodes, err := s.Restore(modelserver.Snapshot{Written: time.Now(), Entries: []aggregate.Entry{{
		Node: "c", Incarnation: 1, Schema: "cpu,memory", Dim: 2, Weight: 1, Moments: []float64{.1, 0, .1}, Mean: []float64{.5, .5},
	}}})
	if err == nil || nodes != 1 {
		t.Errorf("restored %d nodes: %v", nodes, err)
	}
}
