package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/cmd/internal/aggregatord"
	"github.com/spazio-scheduler/spazio/node"
)

// mergePeriod is how often the aggregator publishes, in virtual time.
const mergePeriod = 500 * time.Millisecond

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
		n, err := node.New(node.Config{
			Name: m.name, Meter: m.meter, Pods: m.pods, Clock: c.clock,
			Schedulers: []string{c.hub.Addr().String()}, Aggregator: aggregator.Addr().String(),
		})
		if err != nil {
			return fmt.Errorf("node %s: %w", m.name, err)
		}
		d.services.start("agent of "+m.name, n.Run)
	}
	return nil
}
