package node_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// pipeline is a pipeline that the test drives at 10 Hz.
type pipeline struct {
	*agent.Pipeline
	t    *testing.T
	at   time.Time
	keys []reserve.PodKey
}

func newPipeline(t *testing.T) *pipeline {
	t.Helper()
	p, err := agent.New(agent.Config{
		Node: "n1", Incarnation: 7, Schema: "test/v1", Cores: 4,
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}, {Name: agent.Memory, Size: 16e9}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &pipeline{Pipeline: p, t: t, at: time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)}
}

func (p *pipeline) addSamples(count int, y ...float64) {
	p.t.Helper()
	for range count {
		p.at = p.at.Add(100 * time.Millisecond)
		if _, _, err := p.Sample(p.at, y); err != nil {
			p.t.Fatal(err)
		}
	}
}

// addPods starts as many pods, each just bound by a scheduler.
func (p *pipeline) addPods(count int) {
	p.t.Helper()
	for len(p.keys) < count {
		p.keys = append(p.keys, reserve.PodKey(len(p.keys)+1))
		p.Bound(p.at, agent.Bind{Pod: p.keys[len(p.keys)-1], InitsKnown: true})
	}
	p.keys = p.keys[:count]
	if _, _, err := p.Pods(p.at, agent.RunningPods(p.keys...)); err != nil {
		p.t.Fatal(err)
	}
}

// TestExplain compares the text for a node that exercises every part of it: pods that came and went for
// ten minutes, the fleet's model, churn.
func TestExplain(t *testing.T) {
	p := newPipeline(t)
	rng := rand.New(rand.NewPCG(1, 1))
	pods := 0
	for range 6000 {
		if rng.Float64() < .02 {
			pods = min(max(pods+2*rng.IntN(2)-1, 0), 4)
			p.Churn(p.at)
			p.addPods(pods)
		}
		p.addSamples(1, min(max(.05+.15*float64(pods)+.02*rng.NormFloat64(), 0), 1), .1)
	}
	load, err := svd.Update(svd.Model{}, [][]float64{{.5, .1}}, svd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.SetFleet(p.at, agent.Fleet{
		Schema: "test/v1", Model: load, Nodes: 9, Costs: []agent.Cost{{Value: .7, SD: .1, Known: true}, {}},
	}); err != nil {
		t.Fatal(err)
	}
	p.addSamples(12, .36, .1)
	p.Churn(p.at)
	p.addPods(3)
	w, ok := p.Why()
	if !ok {
		t.Fatal("Why returned nothing to explain")
	}
	golden(t, "explain.golden", node.Explain(w)+"\n")
}

// TestExplainSentences checks each reason that can lead to a report, one at a time.
func TestExplainSentences(t *testing.T) {
	at := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	channel := func(change func(*agent.WhyChannel)) func(*agent.Why) {
		return func(w *agent.Why) { change(&w.Channels[0]) }
	}
	for _, tt := range []struct {
		change func(*agent.Why)
		want   string
		not    string
	}{
		{func(*agent.Why) {}, "n1 has room for 2.0 pods beyond the 2 that run.\nReport 5 of incarnation 7, sampled 2025-06-01T12:00:00Z, sent because it is the first.\n", "Doubts"},
		{func(w *agent.Why) { w.Trigger = agent.OnBlock }, "sent because a block of samples was full.", ""},
		{func(w *agent.Why) { w.Trigger = agent.OnPods }, "sent because the pods changed.", ""},
		{func(w *agent.Why) { w.Trigger = agent.OnAvail }, "sent because avail moved by a pod.", ""},
		{func(w *agent.Why) { w.Limiting = "" }, "No channel decides.", "cpu decides"},
		{func(*agent.Why) {}, "cpu decides, by what is measured: h/c⁺ + n₀ − n = 0.500/0.250 + 2 − 2 = 2.00 (the model would say 2.40).", "U("},
		{channel(func(c *agent.WhyChannel) { c.Mode = "model" }), "cpu decides, by what the model expects: C/c⁺ − n = 1.100/0.250 − 2 = 2.40 (the signal would say 2.00).", "U("},
		{channel(func(c *agent.WhyChannel) { c.Spread = .1 }), "by what is measured: U(h) + n₀ − n = U(0.500) + 2 − 2 = 2.00", "c⁺ + n₀"},
		{channel(func(c *agent.WhyChannel) { c.Spread = .1 }), "Pods differ in cpu: U(x) is the u of u·0.250 + √u·0.100 = x.", ""},
		{channel(func(c *agent.WhyChannel) { c.Slots, c.Mode = 5, "slots" }), "cpu decides, by its cores, of which each pod that does not idle takes about one: slots − n = 5.0 − 2 = 3.00 (what is measured would say 2.00).", "U("},
		{channel(func(c *agent.WhyChannel) { c.Spread, c.Mode = .1, "model" }), "U(C − c⁺·n) = U(1.100 − 0.250·2) = 2.40", ""},
		{channel(func(c *agent.WhyChannel) { c.Spread, c.Mode, c.Model = .1, "model", -1 }), "C/c⁺ − n = 1.100/0.250 − 2 = -1.00", "U(C"},
		{channel(func(c *agent.WhyChannel) { c.Reserve = .2 }), "(h − reserve)/c⁺ + n₀ − n = (0.500 − 0.200)/0.250", ""},
		{channel(func(c *agent.WhyChannel) { c.Reserve, c.Mode = .2, "model" }), "(C − reserve)/c⁺ − n = (1.100 − 0.200)/0.250 − 2", ""},
		{func(w *agent.Why) { w.Saturated = true }, "A channel is full, so nothing is offered", "raised"},
		{func(w *agent.Why) { w.Floored = true }, "Every channel is light, so one pod is offered", "A channel is full"},
		{func(*agent.Why) {}, "How long pods run is not known yet, so none is offered ahead of a free slot.", ""},
		{func(w *agent.Why) { w.Pace = agent.WhyPace{Run: 4.2, Ends: 9, Startup: 1.5} }, "Pods run for 4.2 s (of 9 that ended) and take 1.5 s to start, so none", ""},
		{func(w *agent.Why) { w.Pace, w.Allowance = agent.WhyPace{Run: 4.2, Ends: 9, Slots: 6}, 1.5 }, ", so 1.5 more are offered ahead of a free slot (of 6.0 slots).", "none"},
		{func(w *agent.Why) { w.Pace.Off = true }, "; by configuration none is offered ahead of a free slot.", "so none"},
		{func(w *agent.Why) { w.Pace.ShortLived = true }, "; they end before others start, so a full CPU does not prevent that.", ""},
		{func(w *agent.Why) { w.Pace.ShortLived, w.Pace.Off = true, true }, "free slot.\n", "full CPU"},
		{func(*agent.Why) {}, "No container has started or stopped yet.", "estimator stands still"},
		{func(w *agent.Why) { w.Churn = agent.WhyChurn{Open: true, First: at, Last: at} }, "A container is just starting or stopping, so the estimator stands still.", ""},
		{func(w *agent.Why) {
			w.Churn = agent.WhyChurn{Open: true, First: at.Add(-10 * time.Millisecond), Last: at}
		}, "Containers have been starting or stopping for 10ms, so", ""},
		{func(w *agent.Why) {
			w.Churn = agent.WhyChurn{First: at.Add(-time.Minute), Last: at.Add(-1234 * time.Millisecond)}
		}, "The last container started or stopped 1.23s ago.", ""},
		{func(*agent.Why) {}, "beyond the 2 that run", "The filtered usage shows"},
		{func(w *agent.Why) { w.Measured = 1 }, "The filtered usage shows 1 of the 2 pods so far; the room is corrected by the rest.", ""},
		{func(*agent.Why) {}, "There is no model of the load yet; it takes a block of samples.", ""},
		{func(w *agent.Why) {
			w.Model = agent.WhyModel{K: 3.5, Limiting: "cpu", Sigma: 1.25, Direction: []float64{1}, Blocks: 4, Mass: 2}
		}, "k = 3.50 typical loads fit until cpu is full; σ₁ = 1.250 along u₁ = [1.000], after 4 block(s) of mass 2.00.", "no model"},
		{func(w *agent.Why) { w.Model = agent.WhyModel{Direction: []float64{1}} }, "typical loads fit with no channel in the way;", ""},
		{func(*agent.Why) {}, "No model of the fleet has come: the node uses its own.", ""},
		{func(w *agent.Why) { w.Fleet = agent.WhyFleet{Known: true, Age: time.Second} }, "The fleet's model came 1s ago; its load does not count here.", ""},
		{func(w *agent.Why) { w.Fleet = agent.WhyFleet{Known: true, Age: time.Second, Share: .5, Mass: 3} }, "The fleet's model came 1s ago; its load, of mass 3.0, counts for γ = 0.50 of the model.", ""},
		{func(*agent.Why) {}, "cpu: sampled 0.450, filtered 0.500, so 0.500 is free; a typical load takes 0.300. C = 1.000, c = 0.250, assumed; room 2.00 by signal, 2.40 by model.", "The last block"},
		{channel(func(c *agent.WhyChannel) { c.Pooled.CostSD = .01 }), "c = 0.250 ± 0.010, not the node's own;", ""},
		{channel(func(c *agent.WhyChannel) { c.Pooled.CostSD, c.Pooled.Known = .01, true }), "c = 0.250 ± 0.010;", "fleet's"},
		{channel(func(c *agent.WhyChannel) { c.FleetCost, c.FleetSD = .4, .02 }), "(its own 0.200, assumed, the fleet's 0.400 ± 0.020)", ""},
		{channel(func(c *agent.WhyChannel) { c.Verdict = "taken" }), "The last block was the estimator's first.", "expected"},
		{channel(func(c *agent.WhyChannel) { c.Verdict = "frozen" }), "The estimator did not use the last block: frozen.", ""},
		{channel(func(c *agent.WhyChannel) { c.Verdict, c.Innovation, c.InnovationSD = "outlier", .3, .1 }), "The last block left +0.300 against what the estimator expected, ± 0.100: outlier.", ""},
		{func(w *agent.Why) { w.Flags.Churn, w.Flags.WarmingUp = true, true }, "\nDoubts: containers churn, the first block is not full.", ""},
		{func(w *agent.Why) { w.Flags.CostUnknown, w.Flags.NoPressure = true, true }, "\nDoubts: the cost of a pod is not known, the kernel has no pressure information, which the agent is set to use.", ""},
	} {
		w := agent.Why{
			Node: "n1", Incarnation: 7, Sequence: 5, SampledAt: at, ReportedAt: at,
			Avail: 2, Limiting: "cpu", Mode: "signal", Pods: 2, Measured: 2,
			Channels: []agent.WhyChannel{{
				Name: "cpu", Raw: .45, Filtered: .5, Headroom: .5, Demand: .3, CautiousCost: .25, Signal: 2, Model: 2.4, Mode: "signal",
				Own: agent.WhyEstimate{Cost: .2}, Pooled: agent.WhyEstimate{Capacity: 1.1, Cost: .25},
			}},
		}
		tt.change(&w)
		text := node.Explain(w)
		if !strings.Contains(text, tt.want) {
			t.Errorf("no %q in\n%s", tt.want, text)
		}
		if tt.not != "" && strings.Contains(text, tt.not) {
			t.Errorf("%q in\n%s", tt.not, text)
		}
		if strings.HasSuffix(text, "\n") {
			t.Errorf("text ends with a newline: %q", text)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}
