package agentd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// run starts everything, then runs it until ctx ends.
func (o options) run(ctx context.Context, stderr io.Writer) error {
	logger, err := o.log.Logger(stderr)
	if err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return serve.Usage(err)
	}
	config, err := o.telemetry()
	if err != nil {
		return serve.Usage(err)
	}
	reserve, err := o.reserves(config.Channels)
	if err != nil {
		return serve.Usage(err)
	}
	if o.node, err = o.nodeName(); err != nil {
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
	n, err := o.agent(reader, pods, reserve, logger, registry)
	if bad := (*publish.FieldError)(nil); errors.As(err, &bad) {
		err = serve.Usage(err)
	}
	if err != nil {
		return err
	}
	// Listening comes before anything runs, so that a busy port is known.
	servers, err := o.listeners(ctx, n, registry)
	if err == nil {
		err = o.limits.apply()
	}
	if err != nil {
		return errors.Join(err, servers.close(), n.Close())
	}
	if !reader.Pressure() {
		logger.Warn("the kernel has not the pressure stall information asked for: CPU usage is utilisation alone")
	}
	o.logStart(logger, reader, servers)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.Run(ctx) })
	for _, s := range servers {
		g.Go(func() error { return s.Run(ctx) })
	}
	return g.Wait()
}

func (o options) logStart(logger *slog.Logger, reader *telemetry.Reader, servers servers) {
	attrs := []any{
		"node", o.node, "schema", reader.Schema().ID, "counter", reader.Counter().String(), "sizes", reader.Sizes(),
		"pods", o.podSource, "schedulers", o.schedulers, "aggregator", o.aggregator, "listen", servers[0].Addr().String(),
	}
	if len(servers) > 1 {
		attrs = append(attrs, "debug-listen", servers[1].Addr().String())
	}
	if o.record != "" {
		attrs = append(attrs, "record", o.record)
	}
	logger.Info("started", attrs...)
}

// agent puts the agent together.
func (o options) agent(reader *telemetry.Reader, pods telemetry.PodSource, reserve map[string]float64, logger *slog.Logger, registry *prometheus.Registry) (*node.Node, error) {
	return node.NewNode(node.NodeConfig{
		Name: o.node, Meter: reader, Pods: pods, Reserve: reserve,
		Schedulers: o.schedulers, Refresh: o.refresh, TokenFile: o.tokenFile, Aggregator: o.aggregator, Transport: o.transport,
		RecordDir: o.record,
		Record:    recording.Options{FileSize: int64(o.recordFile), TotalSize: int64(o.recordTotal)},
		Logger:    logger, Registerer: registry,
	})
}

// servers are the HTTP servers, first that of --listen.
type servers []*serve.HTTP

func (o options) listeners(ctx context.Context, n *node.Node, registry *prometheus.Registry) (servers, error) {
	http, err := serve.NewHTTP(ctx, serve.HTTPConfig{
		Addr: o.listen, Transport: o.transport, Gatherer: registry,
		Health: n.Daemon().Health, Ready: n.Ready, Handlers: map[string]http.Handler{"GET /debug/why": whyHandler(n.Daemon())},
	})
	if err != nil {
		return nil, err
	}
	opened := servers{http}
	if o.debugListen != "" {
		profiles, err := serve.NewProfiles(ctx, o.debugListen)
		if err != nil {
			return opened, fmt.Errorf("--debug-listen: %w", err)
		}
		opened = append(opened, profiles)
	}
	return opened, nil
}

// close is for servers that were never run.
func (s servers) close() error {
	var err error
	for _, one := range s {
		err = errors.Join(err, one.Close())
	}
	return err
}

func registerProcess(r *prometheus.Registry) error {
	if err := r.Register(collectors.NewGoCollector()); err != nil {
		return err
	}
	return r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
