package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

// TestExplainPronto: a node that follows the rejection signal explains its state, the signal's
// parameters and the deciding direction.
func TestExplainPronto(t *testing.T) {
	p, err := agent.New(agent.Config{
		Node: "n1", Schema: "s", Cores: 4, Pronto: &pronto.Config{Window: 2 * time.Second, Detector: pronto.DetectorConfig{Threshold: 6}},
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}, {Name: agent.Memory, Size: 16e9}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	explain := func(count int, cpu float64) string {
		for i := range count {
			at = at.Add(100 * time.Millisecond)
			y := cpu
			if i%2 == 1 {
				y += .01
			}
			if _, _, err := p.Sample(at, []float64{y, .2 + .001*float64(i%3)}); err != nil {
				t.Fatal(err)
			}
		}
		w, ok := p.Why()
		if !ok {
			t.Fatal("no report")
		}
		return node.Explain(w)
	}
	for _, tt := range []struct {
		text string
		want []string
	}{
		{explain(1, .3), []string{"n1 takes pods beyond the 0 that run.", "it rejects at 0.500 and for 2s after", "no directions yet", "Doubts: the first block is not full."}},
		{explain(59, .3), []string{"n1 takes pods", "R = 0.000", "Along the node's own directions, of σ = [", "flagged [0 0]"}},
		{explain(1, .9), []string{"n1 takes no pods beyond the 0 that run.", "It was last raised 0s ago, at R = ", "by direction 1 of weights cpu +", "cpu: sampled 0.900, filtered"}},
		{explain(9, .3), []string{"n1 takes no pods"}},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.text, want) {
				t.Errorf("%q is missing in\n%s", want, tt.text)
			}
		}
		for _, never := range []string{"room", "Pods run", "typical load"} {
			if strings.Contains(tt.text, never) {
				t.Errorf("%q in the explanation of a node without room:\n%s", never, tt.text)
			}
		}
	}
	w, _ := p.Why()
	w.Pronto.Adopted = true
	if text := node.Explain(w); !strings.Contains(text, "Along the fleet's directions") {
		t.Errorf("no mention of the fleet's directions:\n%s", text)
	}
}

// TestPronto: the agent's reports follow the rejection signal when its config enables it.
func TestPronto(t *testing.T) {
	c := config()
	c.Pronto = &pronto.Config{}
	a, _ := running(t, c)
	waitFor(t, "a report", func() bool { _, ok := a.Report(); return ok })
	if r, _ := a.Report(); r.Limiting != agent.LimitingPronto || r.Avail != agent.Unbounded {
		t.Errorf("%+v", r)
	}
	w, err := a.Why(context.Background())
	if err != nil || w.Pronto == nil {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestProntoRefused(t *testing.T) {
	for name, p := range map[string]pronto.Config{
		"Pronto.Reject":       {Reject: 2},
		"Pronto.Detector.Lag": {Detector: pronto.DetectorConfig{Lag: 1}},
		"Pronto.Model":        {Model: svd.Options{Block: -1}},
		"Pronto.Model.Rank":   {Model: svd.Options{Rank: 60}},
	} {
		c := config()
		c.Pronto = &p
		_, err := node.New(c)
		var bad *field.Error
		if !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, node.ErrInvalid) {
			t.Errorf("%v, want %s", err, name)
		}
	}
}
