package agent_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
)

// A node of four cores with two pods, at 30 % of its CPU for a second.
func ExamplePipeline() {
	p, err := agent.New(agent.Config{
		Node: "n1", Incarnation: 1, Schema: "example", Cores: 4,
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}},
	})
	if err != nil {
		panic(err)
	}
	at := time.Unix(0, 0)
	if _, _, err := p.Pods(at, agent.RunningPods(1, 2)); err != nil {
		panic(err)
	}
	for range 10 {
		at = at.Add(100 * time.Millisecond)
		report, ok, err := p.Sample(at, []float64{.3})
		if err != nil {
			panic(err)
		}
		if ok {
			fmt.Printf("report %d: room for %.1f pods beyond %d\n", report.Sequence, report.Avail, len(report.Absorbed))
		}
	}
	// Output:
	// report 1: room for 2.8 pods beyond 2
	// report 2: room for 2.8 pods beyond 2
}

// What a report follows from, and a node that goes on from what it has learnt.
func ExamplePipeline_Why() {
	c := agent.Config{
		Node: "n1", Incarnation: 1, Schema: "example", Cores: 4,
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}},
	}
	p, err := agent.New(c)
	if err != nil {
		panic(err)
	}
	at := time.Unix(0, 0).UTC()
	for range 10 {
		at = at.Add(100 * time.Millisecond)
		if _, _, err := p.Sample(at, []float64{.3}); err != nil {
			panic(err)
		}
	}
	if p, err = agent.FromState(c, p.State()); err != nil {
		panic(err)
	}
	if _, _, err := p.Pods(at.Add(time.Second), agent.RunningPods(1)); err != nil {
		panic(err)
	}
	w, _ := p.Why()
	fmt.Println(w)
	// Output:
	// n1 has room for 1.8 pods beyond the 1 that run.
	// Report 3 of incarnation 1, sampled 1970-01-01T00:00:01Z, sent because the pods changed.
	// cpu decides, by what the model expects: C/c⁺ − n = 0.700/0.250 − 1 = 1.80 (the signal would say 2.80).
	// How long pods run is not known yet, so none may be on their way ahead of a free slot.
	// No container has started or stopped yet.
	// k = 2.33 typical loads fit until cpu is full; σ₁ = 0.949 along u₁ = [1.000], after 1 block(s) of mass 1.00.
	// The fleet has said nothing: the node keeps to itself.
	// cpu: sampled 0.300, filtered 0.300, so 0.700 is free; a typical load takes 0.300. C = 0.700, c = 0.250, a guess; room 2.80 by signal, 1.80 by model. The last block was the estimator's first.
	// Doubts: the cost of a pod is not known.
}
