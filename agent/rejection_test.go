package agent_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

// following returns the config of a node that follows Pronto's signal.
func following() agent.Config {
	c := config()
	c.Pronto = &pronto.Config{Window: 500 * time.Millisecond, Detector: pronto.DetectorConfig{Threshold: 5}}
	return c
}

// restless samples a load with changes smaller than a peak.
func (n *node) restless(rng *rand.Rand, count int, cpu, memory float64) {
	n.t.Helper()
	for range count {
		n.samples(1, cpu+.02*(2*rng.Float64()-1), memory+.01*(2*rng.Float64()-1))
	}
}

// TestProntoFollowsTheSignal: avail is all or nothing by an independent tracker of the same samples,
// whatever room there is; a rejection that is raised or withdrawn between two blocks is reported with
// the sample that caused it.
func TestProntoFollowsTheSignal(t *testing.T) {
	n := newNode(t, following())
	beside, err := pronto.New(*following().Pronto)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rejected, turns, last := 0, 0, false
	for i := range 600 {
		y := []float64{.5 + .02*(2*rng.Float64()-1), .3 + .01*(2*rng.Float64()-1)}
		switch {
		case i%50 == 34:
			y[0], y[1] = .95, .6
		case i > 300:
			y[0] += .48 // full, by level alone
		}
		n.samples(1, y...)
		s, err := beside.Step(n.at, y)
		if err != nil {
			t.Fatal(err)
		}
		r := n.last()
		if s.Reject != last {
			turns++
			if !r.SampledAt.Equal(n.at) {
				t.Fatalf("sample %d changed the signal, but the last report is %v old", i, n.at.Sub(r.SampledAt))
			}
		}
		want := float64(agent.Unbounded)
		if last = s.Reject; s.Reject {
			rejected++
			want = 0
		}
		if r.Avail != want || r.Allowance != 0 || r.Saturated || r.Floored || r.Limiting != agent.LimitingPronto || r.Flags.CostUnknown {
			t.Fatalf("sample %d, rejecting %v: %+v", i, s.Reject, r)
		}
	}
	if rejected < 12*5 || rejected > 12*12 || turns < 20 {
		t.Errorf("got %d rejected samples in %d changes, want half a second of each of 12 peaks", rejected, turns)
	}
}

// TestProntoCountsNoRoom: for a scheduler the node accepts pods up to the slow-start limit, or none,
// whether or not their demand is predicted.
func TestProntoCountsNoRoom(t *testing.T) {
	n := newNode(t, following())
	n.restless(rand.New(rand.NewPCG(3, 4)), 57, .9, .9)
	known := agent.DemandOf(profile.Demand{CPU: profile.Share{Amount: 3, Confidence: 1}, Memory: profile.Share{Amount: 12e9, Confidence: 1}}, reserve.Rules{})
	n.samples(1, .5, .1)
	reject := n.last()
	n.restless(rand.New(rand.NewPCG(3, 4)), 57, .5, .1)
	accept := n.last()
	for name, demand := range map[string]reserve.Demand{"typical": reserve.TypicalPod(), "known": known} {
		if got := reserve.Fits(reject.Signal(), reserve.Flight{}, demand, reserve.Rules{}); got != reserve.NoRoom {
			t.Errorf("rejecting node: got %q for a %s pod", got, name)
		}
		if got := reserve.Slots(accept.Signal(), reserve.Flight{}, demand, reserve.Rules{}); got != 2 {
			t.Errorf("accepting node: got %d %s pods at once, want 2 by slow start", got, name)
		}
	}
}

// TestProntoExplains: the explanation has the signal, its parts, and the deciding direction, also while
// an earlier sample's rejection stands.
func TestProntoExplains(t *testing.T) {
	n := newNode(t, following())
	rng := rand.New(rand.NewPCG(5, 6))
	n.samples(1, .5, .3)
	if w, _ := n.p.Why(); w.Pronto == nil || w.Pronto.Rejecting || w.Pronto.Last != nil || len(w.Pronto.Flags) != 0 || w.Pronto.Threshold != pronto.DefaultReject || w.Mode != agent.LimitingPronto {
		t.Errorf("before the first block: got %+v", w)
	}
	n.restless(rng, 56, .5, .3)
	n.samples(1, .9, .5)
	w, ok := n.p.Why()
	if !ok || w.Limiting != agent.LimitingPronto || w.Avail != 0 || w.Pronto == nil {
		t.Fatalf("%+v", w)
	}
	p := *w.Pronto
	if !p.Rejecting || !(p.R >= .5) || p.Window != 500*time.Millisecond || len(p.Flags) != 2 || len(p.Projection) != 2 || len(p.Sigma) != 2 || p.Adopted {
		t.Errorf("%+v", p)
	}
	last := p.Last
	if last == nil || !last.At.Equal(n.at) || last.R != p.R || !slices.Equal(last.Flags, p.Flags) || last.Flags[last.Direction] == 0 || len(last.Vector) != 2 {
		t.Fatalf("%+v", last)
	}
	// The projection on the direction is the dot product.
	if v := .9*last.Vector[0] + .5*last.Vector[1]; !near(v, p.Projection[last.Direction], 1e-12) {
		t.Errorf("projection on %v: want %g, got %v", last.Vector, v, p.Projection)
	}
	raised := *last
	n.restless(rng, 2, .5, .3)
	if w, _ := n.p.Why(); !w.Pronto.Rejecting || !cmp.Equal(w.Pronto.Last, &raised) {
		t.Errorf("while the rejection stands: got %+v", w.Pronto)
	}
	before, _ := n.p.Why()
	shown := before.Pronto.Last.Flags[0]
	n.restless(rng, 40, .5, .3)
	if n.samples(1, 0, 0); before.Pronto.Last.Flags[0] != shown || !before.Pronto.Rejecting {
		t.Error("an explanation changed after it was given")
	}
	room := newNode(t, config())
	room.samples(1, .5, .3)
	if w, _ := room.p.Why(); w.Pronto != nil {
		t.Errorf("without Pronto: got %+v", w.Pronto)
	}
}

// centred returns a fleet's model of samples as a node with Pronto gets it.
func centred(t *testing.T, samples [][]float64, costs ...agent.Cost) agent.Fleet {
	t.Helper()
	m, err := svd.Update(svd.Model{}, samples, svd.Options{Centre: true})
	if err != nil {
		t.Fatal(err)
	}
	return agent.Fleet{Schema: "test/v1" + agent.ProntoSchema, Model: m, Costs: costs, Nodes: 9}
}

// TestProntoLocal: the pushed model is the centred model of the samples as measured, under its own
// schema.
func TestProntoLocal(t *testing.T) {
	n := newNode(t, following())
	if _, ok := n.p.Local(); ok {
		t.Error("got a model without samples")
	}
	samples := [][]float64{{.1, .5}, {.2, .4}, {.1, .9}, {.3, .3}, {.8, .1}, {.1, .2}, {.4, .4}, {0, 1}, {.5, .5}, {.6, .7}}
	for _, y := range samples {
		n.samples(1, y...)
	}
	l, ok := n.p.Local()
	want := centred(t, samples)
	if !ok || l.Schema != want.Schema || l.Sequence != 1 || len(l.Costs) != 2 || !cmp.Equal(l.Model, want.Model.State()) {
		t.Errorf("%v: %+v, want %+v", ok, l, want.Model.State())
	}
}

// TestProntoAdopts: samples are projected on the fleet's directions until the fleet has been silent for
// long, and never if the node is configured to use its own.
func TestProntoAdopts(t *testing.T) {
	f := centred(t, [][]float64{{.1, .2}, {.9, .1}, {.2, .2}, {.8, .3}}, agent.Cost{}, agent.Cost{})
	axis := f.Model.VectorTo(nil, 0)
	for _, alone := range []bool{false, true} {
		c := following()
		c.OwnModel, c.FleetHalfLife = alone, 3*time.Second
		n := newNode(t, c)
		rng := rand.New(rand.NewPCG(7, 8))
		n.restless(rng, 30, .4, .3)
		if err := n.p.SetFleet(n.at, f); err != nil {
			t.Fatal(err)
		}
		adopted := func() (bool, []float64) {
			w, _ := n.p.Why()
			return w.Pronto.Adopted, w.Pronto.Projection
		}
		n.restless(rng, 29, .4, .3)
		n.samples(1, .45, .33) // the last sample of a block
		is, v := adopted()
		along := len(v) > 0 && near(v[0], axis[0]*.45+axis[1]*.33, 1e-9)
		if is == alone || along == alone {
			t.Errorf("own directions only %v: got adopted %v, projections %v, along %v", alone, is, v, axis)
		}
		n.restless(rng, 10, .4, .3)
		if is, _ := adopted(); is {
			t.Errorf("own directions only %v: the silent fleet's directions are still in use", alone)
		}
	}
}

func TestProntoRefusesFleets(t *testing.T) {
	n := newNode(t, following())
	n.samples(20, .3, .1)
	good, plain := centred(t, [][]float64{{.5, .1}, {.1, .1}}), fleet(t, [][]float64{{.5, .1}})
	before := n.p.State()
	for name, f := range map[string]agent.Fleet{
		"Schema": {Schema: "test/v1", Model: good.Model},
		"Model":  {Schema: good.Schema, Model: plain.Model},
		"Costs":  {Schema: good.Schema, Model: good.Model, Costs: []agent.Cost{{}}},
	} {
		var bad *field.Error
		if err := n.p.SetFleet(n.at, f); !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := []agent.Cost{{Value: -1, Known: true}, {}}
	if err := n.p.SetFleet(n.at, agent.Fleet{Schema: good.Schema, Model: good.Model, Costs: bad}); err == nil {
		t.Error("a cost below 0 is accepted")
	}
	if d := cmp.Diff(before, n.p.State(), unexported); d != "" {
		t.Errorf("a refused fleet changed the state:\n%s", d)
	}
	room := newNode(t, config())
	if err := room.p.SetFleet(start, agent.Fleet{Schema: "test/v1", Model: good.Model}); err == nil {
		t.Error("a node that counts room accepted a centred model")
	}
}

// TestProntoAfterAGap: a level that changed during a gap in the samples is no peak.
func TestProntoAfterAGap(t *testing.T) {
	for _, gap := range []time.Duration{0, 5 * time.Second} {
		n := newNode(t, following())
		n.restless(rand.New(rand.NewPCG(1, 1)), 55, .2, .2)
		n.at = n.at.Add(gap)
		n.samples(1, .8, .6)
		if w, _ := n.p.Why(); (n.last().Avail == 0) != (gap == 0) || len(w.Pronto.Flags) != 2 && gap == 0 {
			t.Errorf("after %v: %+v", gap, n.last())
		}
	}
}

// TestProntoOnAResizedMachine: a resize resets the directions, since shares of other sizes differ,
// unless the change is negligible.
func TestProntoOnAResizedMachine(t *testing.T) {
	for cores, forgets := range map[float64]bool{4.1: false, 8: true} {
		n := newNode(t, following())
		n.restless(rand.New(rand.NewPCG(1, 1)), 40, .2, .2)
		if err := n.p.Resize([]float64{cores, 16e9}); err != nil {
			t.Fatal(err)
		}
		if _, ok := n.p.Local(); ok == forgets {
			t.Errorf("%g cores: got a model %v", cores, ok)
		}
		n.restless(rand.New(rand.NewPCG(1, 1)), 40, .1, .2)
		if _, ok := n.p.Local(); !ok {
			t.Errorf("%g cores: nothing learned since", cores)
		}
	}
}

// TestProntoStateContinues stops a node at many moments and continues from its stored state beside the
// one that never stopped, through peaks and fleet models.
func TestProntoStateContinues(t *testing.T) {
	f := centred(t, [][]float64{{.1, .2}, {.9, .1}, {.2, .2}}, agent.Cost{Value: .7, SD: .1, Known: true}, agent.Cost{})
	rejected := false
	for stop := range 70 {
		n := newNode(t, following())
		rng := rand.New(rand.NewPCG(uint64(stop), 1))
		if stop%3 == 0 && stop > 10 {
			n.restless(rng, 10, .4, .3)
			if err := n.p.SetFleet(n.at, f); err != nil {
				t.Fatal(err)
			}
		}
		n.restless(rng, stop, .4, .3)
		if stop%2 == 0 {
			n.samples(1, .9, .4)
		}
		m := &node{t: t, p: restored(t, n.p), at: n.at}
		if d := cmp.Diff(n.p.State(), m.p.State(), unexported); d != "" {
			t.Fatalf("stopped at %d (-stored +restored):\n%s", stop, d)
		}
		n.reports = nil
		for _, one := range []*node{n, m} {
			one.pods(2) // reported at once, with the sample before
			rng := rand.New(rand.NewPCG(uint64(stop), 2))
			one.restless(rng, 13, .4, .3)
			one.samples(2, .95, .9)
			one.restless(rng, 31, .4, .3)
		}
		if d := cmp.Diff(n.reports, m.reports); d != "" {
			t.Fatalf("stopped at %d: the restored node differs:\n%s", stop, d)
		}
		if a, _ := n.p.Why(); a.Pronto.Last != nil {
			rejected = true
			if b, _ := m.p.Why(); !cmp.Equal(a, b) {
				t.Fatalf("stopped at %d: the reasons differ:\n%s", stop, cmp.Diff(a, b))
			}
		}
	}
	if !rejected {
		t.Error("no node has rejected")
	}
}

func TestProntoStateRejects(t *testing.T) {
	n := newNode(t, following())
	n.restless(rand.New(rand.NewPCG(1, 1)), 25, .2, .2)
	for name, edit := range map[string]func(*agent.State, *agent.Config){
		"mode":     func(_ *agent.State, c *agent.Config) { c.Pronto = nil },
		"channels": func(s *agent.State, _ *agent.Config) { s.Pronto.Tracker.Dim = 3 },
		"version":  func(s *agent.State, _ *agent.Config) { s.Pronto.Tracker.Version++ },
		"model":    func(s *agent.State, _ *agent.Config) { s.Pronto.Tracker.Model.Mean = nil },
	} {
		s, c := n.p.State(), following()
		edit(&s, &c)
		if _, err := agent.FromState(c, s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	s := newNode(t, config())
	s.samples(5, .2, .2)
	p, err := agent.FromState(following(), s.p.State())
	if err != nil {
		t.Fatalf("node that counted room and now follows the signal: got error %v", err)
	}
	if r, ok, err := p.Sample(s.at.Add(time.Second), []float64{.2, .2}); err != nil || ok && r.Avail != agent.Unbounded {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestProntoConfigRejects(t *testing.T) {
	for name, p := range map[string]pronto.Config{
		"threshold": {Reject: 1.5},
		"rank":      {Model: svd.Options{Rank: 3}},
		"block":     {Model: svd.Options{Block: agent.MaxBlock + 1}},
	} {
		c := config()
		c.Pronto = &p
		if _, err := agent.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestProntoConfigIsACopy: neither the caller's config nor the returned one shares memory with the
// pipeline.
func TestProntoConfigIsACopy(t *testing.T) {
	c, influence := following(), .25
	c.Pronto.Detector.Influence = &influence
	n := newNode(t, c)
	config := n.p.Config()
	*config.Pronto.Detector.Influence, config.Pronto.Reject = 0, 1
	influence, c.Pronto.Reject = 1, 1
	if got := n.p.Config().Pronto; *got.Detector.Influence != .25 || got.Reject != 0 {
		t.Errorf("%+v, influence %g", got, *got.Detector.Influence)
	}
}

// FuzzRejection passes arbitrary inputs to a pipeline that follows the signal; halfway a second one
// continues from its stored state and must report the same.
func FuzzRejection(f *testing.F) {
	f.Add([]byte{5, 10, 200, 3, 255, 60, 0, 1, 90, 85, 20, 20, 85, 20, 20, 2, 15, 90, 85, 240, 20})
	f.Add(slices.Repeat([]byte{85, 250, 10, 85, 10, 250, 86, 100, 90}, 9))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := agent.New(following())
		if err != nil {
			t.Fatal(err)
		}
		one, two := &script{p: p, at: start}, (*script)(nil)
		for i := 0; i+2 < len(in); i += 3 {
			if two == nil && i >= len(in)/2 {
				two = &script{p: restored(t, one.p), at: one.at, pods: slices.Clone(one.pods)}
			}
			before := marshal(t, one.p.State())
			r, ok, err := one.next(in[i], in[i+1], in[i+2])
			if err != nil && marshal(t, one.p.State()) != before {
				t.Fatalf("error %v, but the state changed", err)
			}
			if two != nil {
				second, alsoOK, alsoErr := two.next(in[i], in[i+1], in[i+2])
				if ok != alsoOK || (err == nil) != (alsoErr == nil) || ok && cmp.Diff(r, second) != "" {
					t.Fatalf("restored pipeline: got %+v, %v, want %+v, %v", second, alsoErr, r, err)
				}
			}
			if !ok || err != nil {
				continue
			}
			w, _ := one.p.Why()
			if r.Avail != 0 && r.Avail != agent.Unbounded || (r.Avail == 0) != w.Pronto.Rejecting || !(w.Pronto.R >= 0 && w.Pronto.R <= 1+1e-12) {
				t.Fatalf("%+v because of %+v", r, w.Pronto)
			}
		}
	})
}

// TestRefusedSamplesChangeNothing: a sample that the pipeline, the filter or Pronto's signal refuses is
// refused before any of them advances, also by a pipeline whose state mixes two moments.
func TestRefusedSamplesChangeNothing(t *testing.T) {
	c := following()
	n := newNode(t, c)
	n.restless(rand.New(rand.NewPCG(1, 1)), 115, .3, .3)
	_, earlier := n.restarted()
	n.restless(rand.New(rand.NewPCG(2, 2)), 50, .3, .3)
	_, later := n.restarted()
	earlier.Pronto = later.Pronto
	mixed, err := agent.FromState(c, earlier)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		p  *agent.Pipeline
		at time.Time
		y  []float64
	}{
		"not a number":                   {n.p, n.at.Add(time.Second), []float64{math.NaN(), .1}},
		"beyond full":                    {n.p, n.at.Add(time.Minute), []float64{.1, 1.5}},
		"too few":                        {n.p, n.at.Add(time.Minute), []float64{.1}},
		"too early":                      {n.p, n.at, []float64{.1, .1}},
		"too early for Pronto":           {mixed, earlier.At.Add(time.Second), []float64{.1, .1}},
		"late, but too early for Pronto": {mixed, earlier.At.Add(3 * time.Second), []float64{.1, .1}},
	} {
		before := test.p.State()
		_, due, err := test.p.Sample(test.at, test.y)
		if err == nil || due {
			t.Errorf("%s: a report %v, %v", name, due, err)
		}
		if d := cmp.Diff(before, test.p.State(), unexported); d != "" {
			t.Errorf("%s: the state has changed:\n%s", name, d)
		}
	}
}
