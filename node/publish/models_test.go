package publish_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/svd"
)

func models(t *testing.T, c publish.ModelsConfig) *publish.Models {
	t.Helper()
	c.Backoff = publish.Backoff{Min: soon, Max: 50 * soon}
	m, err := publish.NewModels(c)
	if err != nil {
		t.Fatal(err)
	}
	run(t, m.Run)
	return m
}

// local returns a model whose direction has the angle.
func local(sequence uint64, angle, sigma float64) agent.Local {
	sin, cos := math.Sincos(angle)
	return agent.Local{
		Node: "n", Incarnation: 1, Sequence: sequence, Schema: "s",
		Model: svd.State{Dim: 2, Block: 10, Mass: 2, U: []float64{cos, sin}, Sigma: []float64{sigma}},
		Costs: make([]agent.Cost, 2),
	}
}

func TestPushBringsTheFleet(t *testing.T) {
	p := newPeer(t)
	model, err := svd.FromState(local(0, 0, 1).Model)
	if err != nil {
		t.Fatal(err)
	}
	p.answer = &spaziov1.PushResponse{Global: api.FromFleet(agent.Fleet{Schema: "s", Model: model, Nodes: 7}, 1)}
	p.start()
	fleets := make(chan agent.Fleet, 10)
	m := models(t, publish.ModelsConfig{Target: p.addr, OnFleet: func(f agent.Fleet) { fleets <- f }})
	m.Offer(local(1, 0, 1))
	if got := receive(t, p.pushes); got.GetSequence() != 1 {
		t.Errorf("pushed %v", got)
	}
	if f := receive(t, fleets); f.Nodes != 7 || !f.Model.Equal(model) {
		t.Errorf("the fleet is %+v", f)
	}
}

func TestChangedModelIsPushedAtOnceAndOthersWhenOld(t *testing.T) {
	p := newPeer(t)
	p.answer = &spaziov1.PushResponse{}
	p.start()
	m := models(t, publish.ModelsConfig{Target: p.addr, Staleness: publish.Staleness{MinInterval: soon, MaxAge: 100 * soon}})
	m.Offer(local(1, 0, 1))
	pushed(t, p, 1)
	began := time.Now() // before the push from which the next model's age counts
	m.Offer(local(2, .5, 1))
	pushed(t, p, 2)
	m.Offer(local(3, .5, 1))
	pushed(t, p, 3)
	if waited := time.Since(began); waited < 100*soon {
		t.Errorf("pushed after %v, want it when old", waited)
	}
}

// pushed waits for the model with the sequence number; a slow test may see the previous model again,
// which has become stale meanwhile.
func pushed(t *testing.T, p *peer, sequence uint64) {
	t.Helper()
	for got := uint64(0); got != sequence; {
		if got = receive(t, p.pushes).GetSequence(); got > sequence || got+1 < sequence {
			t.Fatalf("pushed %d, want %d", got, sequence)
		}
	}
}

func TestRestartedAggregatorGetsTheNewestModel(t *testing.T) {
	p := newPeer(t)
	p.answer = &spaziov1.PushResponse{}
	p.start()
	m := models(t, publish.ModelsConfig{Target: p.addr, Staleness: publish.Staleness{MinInterval: soon}})
	m.Offer(local(1, 0, 1))
	receive(t, p.pushes)
	p.kill()
	m.Offer(local(2, 1, 1))
	m.Offer(local(3, 1.5, 1))
	p.start()
	for receive(t, p.pushes).GetSequence() != 3 {
	}
}

func TestRefusedPushIsRetried(t *testing.T) {
	p := newPeer(t)
	p.err = status.Error(codes.ResourceExhausted, "full")
	p.start()
	m := models(t, publish.ModelsConfig{Target: p.addr, Staleness: publish.Staleness{MinInterval: soon}})
	m.Offer(local(1, 0, 1))
	for range 3 {
		receive(t, p.pushes)
	}
}

func TestStaleness(t *testing.T) {
	base := local(1, .3, 2)
	known := local(2, .3, 2)
	known.Costs[0] = agent.Cost{Value: 1, SD: 1, Known: true}
	otherSchema := local(2, .3, 2)
	otherSchema.Schema = "t"
	otherBlock := local(2, .3, 2*math.Sqrt2)
	otherBlock.Model.Block = 20
	turned := local(2, .3+math.Pi, 2) // the same line with the opposite sign
	wider := local(2, .3, 2)
	wider.Model = svd.State{Dim: 3, Block: 10, Mass: 2, U: []float64{1, 0, 0}, Sigma: []float64{2}}
	rule := publish.Staleness{MinInterval: time.Second, MaxAge: time.Minute}
	for _, tt := range []struct {
		name string
		next agent.Local
		due  bool
	}{
		{"same", local(2, .3, 2), false},
		{"same line", turned, false},
		{"same energy in larger blocks", otherBlock, false},
		{"turned a little", local(2, .3+.0499, 2), false},
		{"turned", local(2, .3+.0502, 2), true},
		{"stretched a little", local(2, .3, 2.09), false},
		{"stretched", local(2, .3, 2.11), true},
		{"shrunk", local(2, .3, 1.89), true},
		{"idle", local(2, .3, 0), true},
		{"cost known", known, true},
		{"other schema", otherSchema, true},
		{"other dimension", wider, true},
	} {
		want := rule.MaxAge
		if tt.due {
			want = rule.MinInterval
		}
		if got := rule.Wait(api.FromLocal(base), api.FromLocal(tt.next)); got != want {
			t.Errorf("%s: waits %v, want %v", tt.name, got, want)
		}
	}
	if got := rule.Wait(nil, api.FromLocal(base)); got != rule.MinInterval {
		t.Errorf("first model: got a wait of %v", got)
	}
	idle, noisy := api.FromLocal(local(1, .3, 0)), api.FromLocal(local(1, 1.3, .019*math.Sqrt(10)))
	if got := rule.Wait(idle, noisy); got != rule.MaxAge {
		t.Errorf("idle node with noise: got a wait of %v", got)
	}
	if got := rule.Wait(idle, idle); got != rule.MaxAge {
		t.Errorf("idle node: got a wait of %v", got)
	}
}

// TestMovedByAngleAndStretch: each limit holds for its own, u₁'s angle, or σ₁ and the means.
func TestMovedByAngleAndStretch(t *testing.T) {
	centred := func(mean float64) agent.Local {
		l := local(1, .3, 2)
		l.Model.Mean = []float64{mean, .2}
		return l
	}
	for _, tt := range []struct {
		name       string
		last, next agent.Local
		moved      bool
	}{
		{"turned a little", local(1, .3, 2), local(2, .3+.0499, 2), false},
		{"turned", local(1, .3, 2), local(2, .3+.0502, 2), true},
		{"stretched a little", local(1, .3, 2), local(2, .3, 2.19), false},
		{"stretched", local(1, .3, 2), local(2, .3, 2.21), true},
		{"shrunk", local(1, .3, 2), local(2, .3, 1.79), true},
		{"mean a little higher", centred(.5), centred(.59), false},
		{"mean higher", centred(.5), centred(.61), true},
	} {
		if got := publish.HasMoved(api.FromLocal(tt.last), api.FromLocal(tt.next), .05, .1); got != tt.moved {
			t.Errorf("%s: got moved %v", tt.name, got)
		}
	}
}

// TestMadeModelSharesItsWakeUp: blocks of samples are MinInterval apart, up to the machine's scheduling
// delay.
func TestMadeModelSharesItsWakeUp(t *testing.T) {
	for _, tt := range []struct {
		wait      time.Duration
		made, due bool
	}{
		{0, false, true},
		{-time.Second, false, true},
		{time.Millisecond, true, true},
		{time.Millisecond, false, false},
		{49 * time.Millisecond, true, true},
		{51 * time.Millisecond, true, false},
		{9 * time.Second, true, false},
	} {
		if got := (publish.Staleness{}).IsDue(tt.wait, tt.made); got != tt.due {
			t.Errorf("wait %v, just made %v: got due %v", tt.wait, tt.made, got)
		}
	}
}

func TestModelsFieldErrors(t *testing.T) {
	for name, c := range map[string]publish.ModelsConfig{
		"Target":                {},
		"Staleness.MinInterval": {Staleness: publish.Staleness{MinInterval: -1}},
		"Staleness.MaxAge":      {Staleness: publish.Staleness{MinInterval: time.Second, MaxAge: 1}},
		"Backoff.Min":           {Backoff: publish.Backoff{Min: -1}},
	} {
		if name != "Target" {
			c.Target = "127.0.0.1:1"
		}
		_, err := publish.NewModels(c)
		var bad *field.Error
		if !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := publish.NewModels(publish.ModelsConfig{Target: "aggregator:9692"})
	var refused *transport.PlaintextError
	if !errors.As(err, &refused) {
		t.Errorf("plaintext beyond loopback: %v", err)
	}
}

// TestStalenessOfMeans: a centred model is due when its mean moves, however little its samples vary.
func TestStalenessOfMeans(t *testing.T) {
	rule := publish.Staleness{MinInterval: time.Second, MaxAge: time.Minute}
	at := func(mean ...float64) *spaziov1.LocalModel {
		l := local(1, .3, .01)
		l.Model.Mean = mean
		return api.FromLocal(l)
	}
	for _, tt := range []struct {
		next []float64
		due  bool
	}{{[]float64{.5, .2}, false}, {[]float64{.54, .16}, false}, {[]float64{.5, .26}, true}, {[]float64{.44, .2}, true}, {nil, true}} {
		want := rule.MaxAge
		if tt.due {
			want = rule.MinInterval
		}
		if got := rule.Wait(at(.5, .2), at(tt.next...)); got != want {
			t.Errorf("%v: waits %v, want %v", tt.next, got, want)
		}
	}
}
