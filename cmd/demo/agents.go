package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/cmd/aggregator/service"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// mergePeriod is how often the aggregator publishes, in virtual time.
const mergePeriod = 500 * time.Millisecond

// prontoWindow is spazio-agent's default.
const prontoWindow = time.Second

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
	c.follows = d.config.Profiles[0] == Pronto
	for _, m := range c.members {
		registry := prometheus.NewRegistry()
		if err := registry.Register(build.Info("spazio-agent")); err != nil {
			return err
		}
		c.targets.Add("spazio-agent", m.name, registry)
		r := &relay{next: make(chan bool), make: func(follows bool) (*node.Agent, error) {
			return c.newAgent(m, aggregator.Addr().String(), follows, registry)
		}}
		first, err := r.make(c.follows)
		if err != nil {
			return fmt.Errorf("node %s: %w", m.name, err)
		}
		c.relays = append(c.relays, r)
		d.services.Start("agent of "+m.name, func(ctx context.Context) error { return r.run(ctx, first) })
	}
	return nil
}

// newAgent is a member's agent, which reports room or follows Pronto's signal.
func (c *cluster) newAgent(m member, aggregator string, follows bool, shown prometheus.Registerer) (*node.Agent, error) {
	config := node.Config{
		Name: m.name, Meter: m.meter, Pods: restPods{m.pods, c.clock.Now}, Clock: c.clock,
		Schedulers: []string{c.hub.Addr().String()}, Aggregator: aggregator, Registerer: shown,
	}
	if m.usage != nil {
		config.Usage, config.Profilers = m.usage, []string{c.profiler}
	}
	if follows {
		config.Pronto = &pronto.Config{Window: prontoWindow}
	}
	return node.New(config)
}

// restPods is a source for an agent that succeeds another while no pods run. It begins with a change,
// since earlier events went to the predecessor.
type restPods struct {
	telemetry.PodSource
	now func() time.Time
}

func (p restPods) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	notify(telemetry.PodEvent{At: p.now(), Changed: true})
	return p.PodSource.Run(ctx, notify)
}

// relay runs one agent of a member after the other.
type relay struct {
	make func(follows bool) (*node.Agent, error)
	next chan bool // whether the next follows Pronto's signal
}

func (r *relay) run(ctx context.Context, agent *node.Agent) error {
	for {
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- agent.Run(running) }()
		select {
		case err := <-ended: // by itself, or with ctx
			stop()
			return err
		case follows := <-r.next:
			stop()
			err := <-ended
			if err == nil {
				agent, err = r.make(follows)
			}
			if err != nil {
				return err
			}
		}
	}
}

// waitReady waits until the nodes rest and report what the profile uses.
func (c *cluster) waitReady(ctx context.Context, profile string) error {
	if err := c.waitQuiet(ctx); err != nil {
		return err
	}
	return c.prepare(ctx, profile)
}

// prepare makes the idle nodes report what the profile uses, and waits until
// they do. The default scheduler needs nothing.
func (c *cluster) prepare(ctx context.Context, profile string) error {
	follows := profile == Pronto
	if profile == Default || c.follows == follows {
		return nil
	}
	c.follows = follows
	for _, r := range c.relays {
		select {
		case r.next <- follows:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := c.waitNodes(ctx, "report by the other signal", func(n nodeView) bool {
		return n.Known && (n.Limiting == agent.LimitingPronto) == follows
	})
	if err != nil {
		return err
	}
	return c.waitQuiet(ctx) // meanwhile they learn what rest is like
}
