package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/node/publish"
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
	SizesTo(dst []float64) []float64
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
	// Reserve is the share of a channel, by its name, that pods leave free.
	Reserve map[string]float64
	// Schedulers and Aggregator are gRPC targets; without an aggregator the node
	// keeps to itself.
	Schedulers []string
	Aggregator string
	Transport  transport.Config
	// TokenFile is as in publish.SignalsConfig.
	TokenFile string
	// Backoff is the wait between attempts to reach a peer.
	Backoff publish.Backoff
	// Refresh is how often names among the schedulers are looked up; 0 means
	// the default of publish.SignalsConfig.
	Refresh time.Duration
	// Period is the time between two samples; 0 means DefaultPeriod.
	Period time.Duration
	// Clock is the node's time, in which Period counts; nil is the wall clock.
	Clock Clock
	// RecordDir, if set, is where the pipeline is recorded; Record bounds the
	// files, and its State is set here.
	RecordDir string
	Record    recording.Options
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Node is an agent with its streams. Run is called once; Daemon is safe from any
// goroutine.
type Node struct {
	daemon     *Daemon
	pods       telemetry.PodSource
	schedulers int
	signals    *publish.Signals
	models     *publish.Models     // nil without an aggregator
	recorder   *recording.Recorder // nil if nothing is recorded
}

// NewNode returns an agent ready to run; nothing has been started but the
// recording. The caller must Run or Close it.
func NewNode(c NodeConfig) (*Node, error) {
	n := &Node{pods: c.Pods, schedulers: len(c.Schedulers)}
	if err := n.assemble(c); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) assemble(c NodeConfig) error {
	config := Config{Sampler: c.Meter, SizesTo: c.Meter.SizesTo, Pods: c.Pods, Logger: c.Logger}
	if c.Clock == nil {
		// The node's time is steady, what it tells others the wall clock's.
		c.Clock, config.Wall = newSteadyClock(), time.Now
		config.Spent = ReadSpent
	}
	if c.Period == 0 {
		c.Period = DefaultPeriod
	}
	config.Now, config.Period = c.Clock.Now, c.Clock.Wall(c.Period)
	var err error
	if config.Pipeline, err = n.newPipeline(c); err != nil {
		return err
	}
	if n.recorder != nil {
		config.Recorder = n.recorder
	}
	if c.Registerer != nil {
		if config.Metrics, err = NewMetrics(c.Registerer); err != nil {
			return err
		}
		if err = registerPodSource(c.Registerer, c.Pods); err != nil {
			return err
		}
	}
	if n.signals, err = n.newSignals(c); err != nil {
		return err
	}
	config.OnReport = n.signals.Send
	if c.Aggregator != "" {
		if n.models, err = n.newModels(c); err != nil {
			return err
		}
		config.OnLocal = n.models.Offer
	}
	n.daemon, err = New(config)
	return err
}

// newPipeline returns the pipeline of a node with the meter's channels, and
// begins to record it if it is to be recorded.
func (n *Node) newPipeline(c NodeConfig) (*agent.Pipeline, error) {
	schema, sizes := c.Meter.Schema(), c.Meter.SizesTo(nil)
	config := agent.Config{
		Node: c.Name, Incarnation: uint64(time.Now().UnixNano()),
		Schema: schema.ID, NoPressure: !c.Meter.Pressure(),
		Settle: settleSamples * c.Period,
	}
	for i, name := range schema.Channels {
		config.Channels = append(config.Channels, agent.Channel{Name: name, Size: sizes[i], Reserve: c.Reserve[name]})
		if name == agent.CPU {
			config.Cores = sizes[i]
		}
	}
	p, err := agent.New(config)
	if err != nil || c.RecordDir == "" {
		return p, err
	}
	c.Record.State = p.State
	n.recorder, err = recording.Create(c.RecordDir, config, c.Record)
	return p, err
}

func (n *Node) newSignals(c NodeConfig) (*publish.Signals, error) {
	return publish.NewSignals(publish.SignalsConfig{
		Targets: c.Schedulers, Refresh: c.Refresh, Transport: c.Transport, TokenFile: c.TokenFile, Backoff: c.Backoff,
		Registerer: c.Registerer, Logger: c.Logger,
		OnNotice: func(_ string, notice *spaziov1.Notice) {
			if bound := notice.GetPodBound(); bound != nil {
				n.daemon.Bound(agent.Bind{
					Pod: reserve.PodKey(bound.GetPod()), Inits: int(bound.GetInitContainers()), InitsKnown: bound.InitContainers != nil,
				})
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

// Ready returns an error unless the node sees its pods, has made a report and, if
// it was given schedulers, has an open stream to one: until then nobody knows of
// its room.
func (n *Node) Ready() error {
	if err := telemetry.PodSourceHealth(n.pods); err != nil {
		return fmt.Errorf("pods: %w", err)
	}
	if _, ok := n.daemon.Last(); !ok {
		return ErrNoReport
	}
	if n.schedulers > 0 && n.signals.Connected() == 0 {
		return errors.New("no scheduler is connected")
	}
	return nil
}

// Run runs the agent until ctx ends or a part of it fails.
func (n *Node) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.daemon.Run(ctx) })
	g.Go(func() error { return n.signals.Run(ctx) })
	if n.models != nil {
		g.Go(func() error { return n.models.Run(ctx) })
	}
	return errors.Join(g.Wait(), n.Close())
}

// Close ends the recording of an agent that is not run.
func (n *Node) Close() error {
	if n.recorder == nil {
		return nil
	}
	if err := n.recorder.Close(); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}
