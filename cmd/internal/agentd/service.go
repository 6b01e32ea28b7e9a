package agentd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	shared "github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/field"
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
	o.energy.Config.Logger = logger
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
	reader, err := telemetry.NewReader(o.telemetry)
	if err != nil {
		return err
	}
	defer reader.Close()
	o.node.Meter = reader
	closeUsage, err := o.measurePods(ctx, logger)
	defer closeUsage()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	if err := Register(registry, o.telemetry.CgroupRoot); err != nil {
		return err
	}
	o.node.Registerer = registry
	a, err := node.New(o.node)
	if err != nil {
		return refused(err)
	}
	// Listening comes before anything runs, so that a busy port is known.
	servers, err := o.listeners(ctx, a, registry)
	if err != nil {
		return err
	}
	if err := limits().Apply(); err != nil {
		return errors.Join(err, servers.Close())
	}
	if !reader.Pressure() {
		logger.Warn("the kernel has no pressure stall information, which --cpu-contention=pressure needs: CPU usage is utilisation alone")
	}
	o.logStart(logger, reader, servers)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.Run(ctx) })
	g.Go(func() error { return servers.Run(ctx) })
	return g.Wait()
}

// limits are those of an agent's process, without what GOMEMLIMIT and GOMAXPROCS set.
func limits() node.ProcessLimits {
	l := node.DefaultProcessLimits()
	if os.Getenv("GOMEMLIMIT") != "" {
		l.Memory = 0
	}
	if os.Getenv("GOMAXPROCS") != "" {
		l.Procs = 0
	}
	return l
}

// measurePods prepares what reads the pods' cgroups, one reader for all.
func (o *options) measurePods(ctx context.Context, logger *slog.Logger) (end func(), err error) {
	var opened []io.Closer
	end = func() {
		for _, c := range opened {
			_ = c.Close() // what was read alone
		}
	}
	if o.usage == "off" && o.energy.off() {
		return end, nil
	}
	usage, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: o.telemetry.CgroupRoot, ProcRoot: o.telemetry.ProcRoot, Logger: logger})
	if err != nil {
		return end, err
	}
	opened = append(opened, usage)
	if o.usage == "on" {
		o.node.Usage = usage
	}
	if o.energy.off() {
		return end, nil
	}
	chain, err := o.measureEnergy(ctx, usage)
	if err == nil {
		opened = append(opened, chain)
	}
	return end, err
}

// refused marks a refusal of node.New as the caller's, because its config comes from flags, and names the flag.
func refused(err error) error {
	bad := field.By(err, "node")
	if bad == nil {
		return err
	}
	if strings.HasPrefix(bad.Field, "Reserve[") {
		return command.Usage(fmt.Errorf("--reserve: %w", err))
	}
	return shared.EnergyUsage(bad.Field, err)
}

func (o options) logStart(logger *slog.Logger, reader *telemetry.Reader, servers *endpoint.Servers) {
	attrs := []any{
		"node", o.node.Name, "schema", reader.Schema().ID, "counter", string(reader.Counter()), "sizes", reader.Sizes(),
		"pods", o.podSource, "schedulers", o.node.Schedulers, "aggregator", o.node.Aggregator, "listen", servers.DebugAddr().String(),
	}
	if addr := servers.MetricsAddr(); addr != nil {
		attrs = append(attrs, "metrics-listen", addr.String())
	}
	if o.node.RecordDir != "" {
		attrs = append(attrs, "record", o.node.RecordDir)
	}
	logger.Info("started", attrs...)
}

// listeners opens the servers.
func (o options) listeners(ctx context.Context, a *node.Agent, registry *prometheus.Registry) (*endpoint.Servers, error) {
	if o.listen == "" {
		return nil, command.Usage(errNoListen)
	}
	return endpoint.NewServers(ctx, endpoint.ServersConfig{
		Shown: endpoint.Config{
			Gatherer: registry, Health: a.Health, Ready: a.Ready,
			Handlers: map[string]http.Handler{"GET /debug/why": a.Handler()},
		},
		Debug: o.listen, Metrics: o.metrics,
	})
}

var errNoListen = errors.New("--listen: must name an address")
