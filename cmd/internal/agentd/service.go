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
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// run starts everything, then runs it until ctx ends.
func (o options) run(ctx context.Context, stderr io.Writer) error {
	logger, err := o.log.Logger(stderr)
	if err != nil {
		return err
	}
	if err := o.parse(); err != nil {
		return command.Usage(err)
	}
	if o.node.Name, err = o.nodeName(); err != nil {
		return err
	}
	o.node.Logger = logger
	if o.node.Pods, err = o.pods(logger); err != nil {
		return err
	}
	if o.usage == "on" {
		usage, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: o.telemetry.CgroupRoot, ProcRoot: o.telemetry.ProcRoot, Logger: logger})
		if err != nil {
			return err
		}
		defer usage.Close()
		o.node.Usage = usage
	}
	reader, err := telemetry.NewReader(o.telemetry)
	if err != nil {
		return err
	}
	defer reader.Close()
	o.node.Meter = reader
	registry := prometheus.NewRegistry()
	if err := errors.Join(registerProcess(registry), registerCgroups(registry, o.telemetry.CgroupRoot)); err != nil {
		return err
	}
	o.node.Registerer = registry
	a, err := node.New(o.node)
	if err != nil {
		return refused(err)
	}
	// Listening comes before anything runs, so that a busy port is known.
	servers, err := o.listeners(ctx, a, registry)
	if err == nil {
		err = o.limits.Apply()
	}
	if err != nil {
		return errors.Join(err, servers.close())
	}
	if !reader.Pressure() {
		logger.Warn("the kernel has not the pressure stall information asked for: CPU usage is utilisation alone")
	}
	o.logStart(logger, reader, servers)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.Run(ctx) })
	for _, s := range servers {
		g.Go(func() error { return s.Run(ctx) })
	}
	return g.Wait()
}

// refused marks what node.New says of its config, that is, of flags.
func refused(err error) error {
	var field *node.FieldError
	var record *recording.FieldError
	if errors.As(err, &field) || errors.As(err, &record) {
		return command.Usage(err)
	}
	return err
}

func (o options) logStart(logger *slog.Logger, reader *telemetry.Reader, servers servers) {
	attrs := []any{
		"node", o.node.Name, "schema", reader.Schema().ID, "counter", reader.Counter().String(), "sizes", reader.Sizes(),
		"pods", o.podSource, "schedulers", o.node.Schedulers, "aggregator", o.node.Aggregator,
	}
	for _, s := range servers {
		attrs = append(attrs, s.flag, s.Addr().String())
	}
	if o.node.RecordDir != "" {
		attrs = append(attrs, "record", o.node.RecordDir)
	}
	logger.Info("started", attrs...)
}

// server is the HTTP server of a flag.
type server struct {
	*endpoint.Server
	flag string
}

type servers []server

// listeners opens the servers, as far as it gets.
func (o options) listeners(ctx context.Context, a *node.Agent, registry *prometheus.Registry) (opened servers, err error) {
	shown := endpoint.Config{
		Addr: o.listen, Gatherer: registry, Health: a.Health, Ready: a.Ready,
		Handlers: map[string]http.Handler{"GET /debug/why": a.Handler()},
	}
	scraped := shown
	scraped.Addr = o.metrics
	for _, one := range []struct {
		flag, addr string
		open       func() (*endpoint.Server, error)
	}{
		{"listen", o.listen, func() (*endpoint.Server, error) { return endpoint.NewDebug(ctx, shown) }},
		{"metrics-listen", o.metrics, func() (*endpoint.Server, error) { return endpoint.NewMetrics(ctx, scraped) }},
		{"debug-listen", o.debugListen, func() (*endpoint.Server, error) { return endpoint.NewProfiles(ctx, o.debugListen) }},
	} {
		if one.addr == "" && one.flag != "listen" {
			continue
		}
		http, err := one.open()
		if err != nil {
			return opened, fmt.Errorf("--%s: %w", one.flag, err)
		}
		opened = append(opened, server{http, one.flag})
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
