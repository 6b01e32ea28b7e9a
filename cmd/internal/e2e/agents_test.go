package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/publish"
	"github.com/spazio-scheduler/spazio/cmd/internal/simnode"
	"github.com/spazio-scheduler/spazio/reserve"
)

// runSimulatedNodes runs nodes of four cores with their agents until the test
// ends.
func runSimulatedNodes(t *testing.T, client kubernetes.Interface, clock simnode.Clock, count int, scheduler, aggregator string) {
	t.Helper()
	machines := make([]simnode.Machine, count)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for i := range machines {
		node, err := simnode.NewNode(fmt.Sprintf("sim-%02d", i), simnode.Params{Seed: uint64(i)}, clock)
		if err != nil {
			t.Fatal(err)
		}
		machines[i] = node
		for _, run := range simulatedAgent(t, node, clock, scheduler, aggregator) {
			running.Go(func() {
				if err := run(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("agent of %s: %v", node.Name(), err)
				}
			})
		}
	}
	runMachines(t, client, clock, machines)
}

// simulatedAgent returns the parts of a node's agent, to be run together.
func simulatedAgent(t *testing.T, node *simnode.Node, clock simnode.Clock, scheduler, aggregator string) []func(context.Context) error {
	t.Helper()
	fatal := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	pipeline, err := simulatedPipeline(node)
	fatal(err)
	var daemon *agentd.Daemon
	// The longest wait for a scheduler that restarts is to cost the batch little.
	backoff := publish.Backoff{Max: 500 * time.Millisecond}
	signals, err := publish.NewSignals(publish.SignalsConfig{
		Targets: []string{scheduler}, Backoff: backoff,
		OnNotice: func(_ string, n *spaziov1.Notice) {
			if bound := n.GetPodBound(); bound != nil {
				daemon.Bound(reserve.PodKey(bound.GetPod()))
			}
		},
	})
	fatal(err)
	models, err := publish.NewModels(publish.ModelsConfig{
		Target: aggregator, Backoff: backoff,
		Staleness: publish.Staleness{MinInterval: clock.Wall(time.Second), MaxAge: clock.Wall(10 * time.Second)},
		OnFleet:   func(f agent.Fleet) { daemon.SetFleet(f) },
	})
	fatal(err)
	daemon, err = agentd.New(agentd.Config{
		Pipeline: pipeline, Sampler: node, Pods: node.Pods(),
		Period: clock.Wall(agentd.DefaultPeriod), Now: clock.Now,
		OnReport: signals.Send, OnLocal: models.Offer,
	})
	fatal(err)
	return []func(context.Context) error{signals.Run, models.Run, daemon.Run}
}

func simulatedPipeline(node *simnode.Node) (*agent.Pipeline, error) {
	schema, sizes := node.Schema(), node.Sizes()
	c := agent.Config{Node: node.Name(), Incarnation: uint64(time.Now().UnixNano()), Schema: schema.ID, Cores: sizes[0]}
	for i, name := range schema.Channels {
		c.Channels = append(c.Channels, agent.Channel{Name: name, Size: sizes[i]})
	}
	return agent.New(c)
}
