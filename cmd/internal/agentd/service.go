package agentd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/cmd/internal/publish"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// settleSamples is the filter's lag in samples: its persistence gate and one.
const settleSamples = 6

// service is a running agent: the daemon and what it talks to.
type service struct {
	daemon  *Daemon
	signals *publish.Signals
	models  *publish.Models // nil without an aggregator
	http    *serve.HTTP
}

// run starts everything, then runs it until ctx ends.
func (o options) run(ctx context.Context, stderr io.Writer) error {
	logger, err := o.log.Logger(stderr)
	if err != nil {
		return err
	}
	if err := o.transport.Validate(); err != nil {
		return serve.Usage(err)
	}
	period, err := o.period()
	if err != nil {
		return err
	}
	config, err := o.telemetry(period)
	if err != nil {
		return err
	}
	node, err := o.nodeName()
	if err != nil {
		return err
	}
	pods, err := o.pods(logger)
	if err != nil {
		return err
	}
	reader, err := telemetry.NewReader(config)
	if err != nil {
		return err
	}
	defer reader.Close()
	pipeline, err := newPipeline(node, reader, period)
	if err != nil {
		return err
	}
	s, err := o.service(ctx, logger, Config{Pipeline: pipeline, Sampler: reader, Pods: pods, Period: period, Logger: logger})
	if err != nil {
		return err
	}
	if !reader.Pressure() {
		logger.Warn("the kernel has no pressure stall information: CPU usage is utilisation alone")
	}
	logger.Info("started", "node", node, "schema", reader.Schema().ID, "counter", reader.Counter().String(),
		"sizes", reader.Sizes(), "pods", o.podSource, "schedulers", o.schedulers, "aggregator", o.aggregator, "listen", s.http.Addr().String())
	return s.run(ctx)
}

func (o options) pods(logger *slog.Logger) (telemetry.PodSource, error) {
	switch o.podSource {
	case "none":
		return telemetry.StaticPods(nil), nil
	case "cgroup":
		source, err := telemetry.NewCgroupPods(telemetry.CgroupConfig{Root: o.cgroupRoot, ProcRoot: o.procRoot, Logger: logger})
		if err != nil {
			return nil, fmt.Errorf("--pod-source cgroup: %w", err)
		}
		return source, nil
	}
	return nil, serve.Usage(fmt.Errorf("--pod-source: %q is neither cgroup nor none", o.podSource))
}

// newPipeline returns the pipeline of a node with the reader's channels.
func newPipeline(node string, r *telemetry.Reader, period time.Duration) (*agent.Pipeline, error) {
	schema, sizes := r.Schema(), r.Sizes()
	c := agent.Config{
		Node: node, Incarnation: uint64(time.Now().UnixNano()),
		Schema: schema.ID, NoPressure: !r.Pressure(),
		Settle: settleSamples * period,
	}
	for i, name := range schema.Channels {
		c.Channels = append(c.Channels, agent.Channel{Name: name, Size: sizes[i]})
		if name == agent.CPU {
			c.Cores = sizes[i]
		}
	}
	return agent.New(c)
}

// service puts the parts together. It opens the HTTP listener, so that a busy
// port is known before anything runs.
func (o options) service(ctx context.Context, logger *slog.Logger, c Config) (*service, error) {
	registry := prometheus.NewRegistry()
	if err := registerProcess(registry); err != nil {
		return nil, err
	}
	metrics, err := NewMetrics(registry)
	if err != nil {
		return nil, err
	}
	s := &service{}
	s.signals, err = publish.NewSignals(publish.SignalsConfig{
		Targets: o.schedulers, Transport: o.transport, Registerer: registry, Logger: logger,
		OnNotice: func(_ string, n *spaziov1.Notice) {
			if bound := n.GetPodBound(); bound != nil {
				s.daemon.Bound(reserve.PodKey(bound.GetPod()))
			}
		},
	})
	if err != nil {
		return nil, err
	}
	c.OnReport, c.Metrics = s.signals.Send, metrics
	if o.aggregator != "" {
		s.models, err = publish.NewModels(publish.ModelsConfig{
			Target: o.aggregator, Transport: o.transport, Registerer: registry, Logger: logger,
			OnFleet: func(f agent.Fleet) { s.daemon.SetFleet(f) },
		})
		if err != nil {
			return nil, err
		}
		c.OnLocal = s.models.Offer
	}
	if s.daemon, err = New(c); err != nil {
		return nil, err
	}
	s.http, err = serve.NewHTTP(ctx, serve.HTTPConfig{
		Addr: o.listen, Transport: o.transport, Gatherer: registry, Health: s.daemon.Health,
	})
	return s, err
}

func registerProcess(r *prometheus.Registry) error {
	if err := r.Register(collectors.NewGoCollector()); err != nil {
		return err
	}
	return r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// run runs the parts until ctx ends or one fails.
func (s *service) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.daemon.Run(ctx) })
	g.Go(func() error { return s.signals.Run(ctx) })
	g.Go(func() error { return s.http.Run(ctx) })
	if s.models != nil {
		g.Go(func() error { return s.models.Run(ctx) })
	}
	return g.Wait()
}
