package demo

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/aggregatord"
	"github.com/spazio-scheduler/spazio/cmd/internal/publish"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Periods of the fleet in virtual time: the defaults of the parts.
const (
	samplePeriod = agentd.DefaultPeriod
	mergePeriod  = 500 * time.Millisecond
	pushPeriod   = time.Second
	pushMaxAge   = 10 * time.Second
)

// startAgents runs the aggregator and an agent for each node.
func (c *cluster) startAgents(ctx context.Context, d *demo) error {
	aggregator, err := aggregatord.New(ctx, aggregatord.Config{
		Listen: loopback,
		Server: modelserver.Config{Tick: c.clock.Wall(mergePeriod), Now: c.clock.Now},
	})
	if err != nil {
		return err
	}
	d.services.start("aggregator", aggregator.Run)
	for _, m := range c.members {
		run, err := c.newAgent(m, aggregator.Addr().String())
		if err != nil {
			return fmt.Errorf("node %s: %w", m.spec.Name, err)
		}
		d.services.start("agent of "+m.spec.Name, run)
	}
	return nil
}

// newAgent returns a member's agent, ready to run.
func (c *cluster) newAgent(m member, aggregator string) (func(context.Context) error, error) {
	pipeline, err := newPipeline(m)
	if err != nil {
		return nil, err
	}
	var daemon *agentd.Daemon
	signals, err := publish.NewSignals(publish.SignalsConfig{
		Targets: []string{c.hub.Addr().String()},
		OnNotice: func(_ string, n *spaziov1.Notice) {
			if bound := n.GetPodBound(); bound != nil {
				daemon.Bound(reserve.PodKey(bound.GetPod()))
			}
		},
	})
	if err != nil {
		return nil, err
	}
	models, err := publish.NewModels(publish.ModelsConfig{
		Target:    aggregator,
		Staleness: publish.Staleness{MinInterval: c.clock.Wall(pushPeriod), MaxAge: c.clock.Wall(pushMaxAge)},
		OnFleet:   func(f agent.Fleet) { daemon.SetFleet(f) },
	})
	if err != nil {
		return nil, err
	}
	daemon, err = agentd.New(agentd.Config{
		Pipeline: pipeline,
		Sampler:  m.sampler,
		Pods:     m.pods,
		Period:   c.clock.Wall(samplePeriod),
		Now:      c.clock.Now,
		OnReport: signals.Send,
		OnLocal:  models.Offer,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return signals.Run(ctx) })
		group.Go(func() error { return models.Run(ctx) })
		group.Go(func() error { return daemon.Run(ctx) })
		return group.Wait()
	}, nil
}

func newPipeline(m member) (*agent.Pipeline, error) {
	schema, sizes := m.sampler.Schema(), m.sampler.Sizes()
	config := agent.Config{
		Node:        m.spec.Name,
		Incarnation: uint64(time.Now().UnixNano()),
		Schema:      schema.ID,
		NoPressure:  !m.sampler.Pressure(),
	}
	for i, name := range schema.Channels {
		config.Channels = append(config.Channels, agent.Channel{Name: name, Size: sizes[i]})
		if name == agent.CPU {
			config.Cores = sizes[i]
		}
	}
	return agent.New(config)
}
