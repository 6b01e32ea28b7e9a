package agent_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
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
	if _, _, err := p.Pods(at, []reserve.PodKey{1, 2}); err != nil {
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
