package node_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// quarter is a machine of four cores and 16 GiB, a quarter of which is in use.
type quarter struct{}

func (quarter) Schema() telemetry.Schema {
	return telemetry.Schema{ID: "example", Channels: []string{agent.CPU, agent.Memory}}
}

func (quarter) SizesTo(dst []float64) []float64 { return append(dst[:0], 4, 16<<30) }
func (quarter) Pressure() bool                  { return true }

func (quarter) SampleTo(dst []float64, _ time.Time) ([]float64, error) {
	return append(dst[:0], .25, .25), nil
}

// An agent can run within another program. This one has a meter of its own; on Linux,
// telemetry.NewReader(telemetry.Config{}) is the meter and telemetry.NewCgroupPods the source of pods.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	a, err := node.New(node.Config{
		Name: "n1", Meter: quarter{}, Pods: telemetry.StaticPods(nil),
		OnReport: func(r agent.Report) {
			fmt.Printf("%s has room for %.1f pods, %s is the first to be full\n", r.Node, r.Avail, r.Limiting)
			cancel() // one report is enough here
		},
	})
	if err != nil {
		panic(err)
	}
	if err := a.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// n1 has room for 3.0 pods, cpu is the first to be full
}

// Errors of a Config name the field.
func ExampleConfig_Validate() {
	err := node.Config{Name: "n1", Meter: quarter{}, Pods: telemetry.StaticPods(nil), Reserve: map[string]float64{"cpu": 1}}.Validate()
	var bad *field.Error
	fmt.Println(errors.As(err, &bad), bad.Field, bad.Value)
	fmt.Println(err)
	// Output:
	// true Reserve[cpu] 1
	// node: Reserve[cpu] = 1: invalid configuration or input: not a share in [0,1)
}

func ExampleExplain() {
	p, err := agent.New(agent.Config{
		Node: "n1", Incarnation: 1, Schema: "example", Cores: 4,
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}},
	})
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
	w, _ := p.Why()
	fmt.Println(node.Explain(w))
	// Output:
	// n1 has room for 2.8 pods beyond the 0 that run.
	// Report 2 of incarnation 1, sampled 1970-01-01T00:00:01Z, sent because a block of samples was full.
	// cpu decides, by what is measured: h/c⁺ + n₀ − n = 0.700/0.250 + 0 − 0 = 2.80 (the model would say 2.80).
	// How long pods run is not known yet, so none is offered ahead of a free slot.
	// No container has started or stopped yet.
	// k = 2.33 typical loads fit until cpu is full; σ₁ = 0.949 along u₁ = [1.000], after 1 block(s) of mass 1.00.
	// No model of the fleet has come: the node uses its own.
	// cpu: sampled 0.300, filtered 0.300, so 0.700 is free; a typical load takes 0.300. C = 0.700, c = 0.250, assumed; room 2.80 by signal, 2.80 by model. The last block was the estimator's first.
	// Doubts: the cost of a pod is not known.
}
