package agentd

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

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
	registry := prometheus.NewRegistry()
	if err := registerProcess(registry); err != nil {
		return err
	}
	agent, err := NewNode(NodeConfig{
		Name: node, Meter: reader, Pods: pods, Period: period,
		Schedulers: o.schedulers, Aggregator: o.aggregator, Transport: o.transport,
		Logger: logger, Registerer: registry,
	})
	if err != nil {
		return err
	}
	// Listening comes before anything runs, so that a busy port is known.
	http, err := serve.NewHTTP(ctx, serve.HTTPConfig{
		Addr: o.listen, Transport: o.transport, Gatherer: registry, Health: agent.Daemon().Health,
	})
	if err != nil {
		return err
	}
	if !reader.Pressure() {
		logger.Warn("the kernel has no pressure stall information: CPU usage is utilisation alone")
	}
	logger.Info("started", "node", node, "schema", reader.Schema().ID, "counter", reader.Counter().String(),
		"sizes", reader.Sizes(), "pods", o.podSource, "schedulers", o.schedulers, "aggregator", o.aggregator, "listen", http.Addr().String())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return agent.Run(ctx) })
	g.Go(func() error { return http.Run(ctx) })
	return g.Wait()
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

func registerProcess(r *prometheus.Registry) error {
	if err := r.Register(collectors.NewGoCollector()); err != nil {
		return err
	}
	return r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
