package agentd

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/publish"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// settleSamples is the filter's lag in samples: its persistence gate and one.
const settleSamples = 6

// Periods of the fleet in the time the node lives in.
const (
	pushMinInterval = time.Second
	pushMaxAge      = 10 * time.Second
)

// Meter is a machine to measure: a *telemetry.Reader or a simulated node.
type Meter interface {
	Sampler
	Schema() telemetry.Schema
	Sizes() []float64
	Pressure() bool
}

// Clock is the time that a node lives in.
type Clock interface {
	Now() time.Time
	// Wall is how long a span of that time takes on the wall clock.
	Wall(time.Duration) time.Duration
}

// NodeConfig puts a whole agent together: what it measures and whom it tells.
// Name, Meter and Pods are required.
type NodeConfig struct {
	Name  string
	Meter Meter
	Pods  telemetry.PodSource
	// Schedulers and Aggregator are gRPC targets; without an aggregator the node
	// keeps to itself.
	Schedulers []string
	Aggregator string
	Transport  transport.Config
	// Backoff is the wait between attempts to reach a peer.
	Backoff publish.Backoff
	// Period is the time between two samples; 0 means DefaultPeriod.
	Period time.Duration
	// Clock is the node's time, in which Period counts; nil is the wall clock.
	Clock Clock
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Node is an agent with its streams. Run is called once; Daemon is safe from any
// goroutine.
type Node struct {
	daemon  *Daemon
	signals *publish.Signals
	models  *publish.Models // nil without an aggregator
}

// NewNode returns an agent ready to run; nothing has been started.
func NewNode(c NodeConfig) (*Node, error) {
	c = c.withDefaults()
	pipeline, err := newPipeline(c)
	if err != nil {
		return nil, err
	}
	config := Config{
		Pipeline: pipeline, Sampler: c.Meter, Pods: c.Pods,
		Period: c.Clock.Wall(c.Period), Now: c.Clock.Now, Logger: c.Logger,
	}
	if c.Registerer != nil {
		if config.Metrics, err = NewMetrics(c.Registerer); err != nil {
			return nil, err
		}
	}
	n := &Node{}
	if n.signals, err = n.newSignals(c); err != nil {
		return nil, err
	}
	config.OnReport = n.signals.Send
	if c.Aggregator != "" {
		if n.models, err = n.newModels(c); err != nil {
			return nil, err
		}
		config.OnLocal = n.models.Offer
	}
	n.daemon, err = New(config)
	return n, err
}

type wallClock struct{}

func (wallClock) Now() time.Time                     { return time.Now() }
func (wallClock) Wall(d time.Duration) time.Duration { return d }

func (c NodeConfig) withDefaults() NodeConfig {
	if c.Period == 0 {
		c.Period = DefaultPeriod
	}
	if c.Clock == nil {
		c.Clock = wallClock{}
	}
	return c
}

// newPipeline returns the pipeline of a node with the meter's channels.
func newPipeline(c NodeConfig) (*agent.Pipeline, error) {
	schema, sizes := c.Meter.Schema(), c.Meter.Sizes()
	config := agent.Config{
		Node: c.Name, Incarnation: uint64(time.Now().UnixNano()),
		Schema: schema.ID, NoPressure: !c.Meter.Pressure(),
		Settle: settleSamples * c.Period,
	}
	for i, name := range schema.Channels {
		config.Channels = append(config.Channels, agent.Channel{Name: name, Size: sizes[i]})
		if name == agent.CPU {
			config.Cores = sizes[i]
		}
	}
	return agent.New(config)
}

func (n *Node) newSignals(c NodeConfig) (*publish.Signals, error) {
	return publish.NewSignals(publish.SignalsConfig{
		Targets: c.Schedulers, Transport: c.Transport, Backoff: c.Backoff,
		Registerer: c.Registerer, Logger: c.Logger,
		OnNotice: func(_ string, notice *spaziov1.Notice) {
			if bound := notice.GetPodBound(); bound != nil {
				n.daemon.Bound(reserve.PodKey(bound.GetPod()))
			}
		},
	})
}

func (n *Node) newModels(c NodeConfig) (*publish.Models, error) {
	return publish.NewModels(publish.ModelsConfig{
		Target: c.Aggregator, Transport: c.Transport, Backoff: c.Backoff,
		Staleness:  publish.Staleness{MinInterval: c.Clock.Wall(pushMinInterval), MaxAge: c.Clock.Wall(pushMaxAge)},
		Registerer: c.Registerer, Logger: c.Logger,
		OnFleet: func(f agent.Fleet) { n.daemon.SetFleet(f) },
	})
}

// Daemon is the part that measures.
func (n *Node) Daemon() *Daemon { return n.daemon }

// Run runs the agent until ctx ends or a part of it fails.
func (n *Node) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.daemon.Run(ctx) })
	g.Go(func() error { return n.signals.Run(ctx) })
	if n.models != nil {
		g.Go(func() error { return n.models.Run(ctx) })
	}
	return g.Wait()
}
