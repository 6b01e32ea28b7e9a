package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/cmd/aggregator/service"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/build"
)

// mergePeriod is how often the aggregator publishes, in virtual time.
const mergePeriod = 500 * time.Millisecond

// startAgents runs the aggregator and an agent for each node.
func (c *cluster) startAgents(ctx context.Context, d *demo) error {
	aggregator, err := service.New(ctx, service.Config{
		Listen: loopback,
		Server: modelserver.Config{Tick: c.clock.Wall(mergePeriod), Now: c.clock.Now},
	})
	if err != nil {
		return err
	}
	d.services.Start("aggregator", aggregator.Run)
	c.targets.Add("spazio-aggregator", "aggregator", aggregator.Registry())
	for _, m := range c.members {
		registry := prometheus.NewRegistry()
		if err := registry.Register(build.Info("spazio-agent")); err != nil {
			return err
		}
		c.targets.Add("spazio-agent", m.name, registry)
		agent, err := node.New(node.Config{
			Name: m.name, Meter: m.meter, Pods: m.pods, Clock: c.clock, Registerer: registry,
			Schedulers: []string{c.hub.Addr().String()}, Aggregator: aggregator.Addr().String(),
			Usage: m.usage, Profilers: []string{c.profiler},
		})
		if err != nil {
			return fmt.Errorf("node %s: %w", m.name, err)
		}
		d.services.Start("agent of "+m.name, agent.Run)
	}
	return nil
}
