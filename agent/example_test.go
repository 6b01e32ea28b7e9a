package agent_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
)

// A node of four cores with two pods uses 30 % of its CPU for a second.
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
			fmt.Printf("report %d: room for %.1f pods beyond %d\n", report.Sequence, report.Avail, len(report.Pods))
		}
	}
	// Output:
	// report 1: room for 2.8 pods beyond 2
	// report 2: room for 2.8 pods beyond 2
}

// Why explains a report; a restored node has what it had learned.
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
	cpu := w.Channels[0]
	fmt.Printf("%.2f pods fit beyond %d, by the %s of %s\n", w.Avail, w.Pods, w.Mode, w.Limiting)
	fmt.Printf("C = %.3f, c⁺ = %.3f; %.2f by the signal, %.2f by the model\n", cpu.Pooled.Capacity, cpu.CautiousCost, cpu.Signal, cpu.Model)
	// Output:
	// 1.80 pods fit beyond 1, by the model of cpu
	// C = 0.700, c⁺ = 0.250; 2.80 by the signal, 1.80 by the model
}
