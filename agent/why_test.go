package agent_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
)

// TestWhyAgrees compares each explanation with its report, and its parts with each other.
func TestWhyAgrees(t *testing.T) {
	n := newNode(t, config())
	if w, ok := n.p.Why(); ok {
		t.Errorf("explained before the first report: %+v", w)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	f := fleet(t, [][]float64{{.5, .1}}, agent.Cost{Value: .7, SD: .1, Known: true}, agent.Cost{})
	triggers := map[agent.Trigger]int{}
	n.visit = func(r agent.Report) {
		w, ok := n.p.Why()
		if !ok {
			t.Fatal("no explanation")
		}
		triggers[w.Trigger]++
		checkWhy(t, r, w)
	}
	n.run(rng, 200, .1, .18)
	n.samples(8, 1, .1) // a full CPU is reported at once
	if err := n.p.SetFleet(n.at, f); err != nil {
		t.Fatal(err)
	}
	n.run(rng, 100, .1, .18)
	for _, trigger := range []agent.Trigger{agent.OnFirst, agent.OnBlock, agent.OnPods, agent.OnAvail} {
		if triggers[trigger] == 0 {
			t.Errorf("no report on %s: %v", trigger, triggers)
		}
	}
}

func checkWhy(t *testing.T, r agent.Report, w agent.Why) {
	t.Helper()
	same := w.Node == r.Node && w.Incarnation == r.Incarnation && w.Sequence == r.Sequence &&
		w.SampledAt.Equal(r.SampledAt) && w.Avail == r.Avail && w.Limiting == r.Limiting &&
		w.Pods == len(r.Pods) && w.Model.K == r.K && w.Flags == r.Flags && w.Saturated == r.Saturated
	if !same {
		t.Fatalf("report %+v\nexplained by %+v", r, w)
	}
	least := math.Inf(1)
	for i, c := range w.Channels {
		p := agent.ChannelReport{
			Name: c.Name, Usage: c.Filtered, Capacity: min(c.Pooled.Capacity, 1), Cost: c.Pooled.Cost, CostSD: c.Pooled.CostSD,
			Room: c.Room, StartupAllowance: c.StartupAllowance, Unit: r.Channels[i].Unit, PodSD: c.Spread, Most: min(max(c.Pooled.Capacity-c.Reserve, 0), 1-c.Reserve),
		}
		if d := cmp.Diff(r.Channels[i], p); d != "" {
			t.Fatalf("channel (-report +why):\n%s", d)
		}
		if c.Headroom != 1-c.Filtered || c.CautiousCost < c.Pooled.Cost {
			t.Fatalf("channel %+v", c)
		}
		least = min(least, c.Signal, c.Model)
		if c.Slots > 0 {
			least = min(least, c.Slots-float64(w.Pods))
		}
	}
	if !w.Saturated && !w.Floored && least+w.Allowance != w.Avail {
		t.Fatalf("avail %v, least bound %v: %+v", w.Avail, least, w)
	}
}

// TestWhyAsJSON checks the format that programs read.
func TestWhyAsJSON(t *testing.T) {
	n := newNode(t, config())
	rng := rand.New(rand.NewPCG(1, 1))
	n.run(rng, 600, .05, .15)
	f := fleet(t, [][]float64{{.5, .1}}, agent.Cost{Value: .7, SD: .1, Known: true}, agent.Cost{})
	if err := n.p.SetFleet(n.at, f); err != nil {
		t.Fatal(err)
	}
	n.samples(12, .36, .1)
	n.p.Churn(n.at)
	n.pods(3)
	w, _ := n.p.Why()
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"node":"n1"`, `"trigger":"pods"`, `"raw":0.36`, `"verdict":"`, `"share":`, `"runSeconds":`} {
		if !strings.Contains(string(text), key) {
			t.Errorf("no %s in %s", key, text)
		}
	}
}

func TestWhyFirst(t *testing.T) {
	n := newNode(t, config())
	n.samples(1, .25, .1)
	w, _ := n.p.Why()
	if w.Trigger != agent.OnFirst || w.Model.Blocks != 0 || len(w.Model.Direction) != 0 {
		t.Errorf("first report: %+v", w)
	}
	n.samples(60, .99, .1)
	if w, _ = n.p.Why(); !w.Saturated || w.Channels[0].Verdict != "censored" {
		t.Errorf("full node: %+v", w)
	}
}

func TestWhyCostsTheSampleNothing(t *testing.T) {
	n := newNode(t, config())
	n.samples(101, .3, .1) // a block is one sample old
	y := []float64{.3, .1}
	if a := testing.AllocsPerRun(5, func() {
		n.at = n.at.Add(time.Millisecond)
		if _, ok, err := n.p.Sample(n.at, y); ok || err != nil {
			t.Fatalf("report %v, error %v", ok, err)
		}
	}); a != 0 {
		t.Errorf("%v allocations a sample, want none", a)
	}
}
