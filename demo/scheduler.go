package demo

import (
	"context"
	"slices"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/service"
)

// startScheduler runs one scheduler with all profiles.
func (c *cluster) startScheduler(ctx context.Context, d *demo) error {
	c.hub = plugin.NewHub(plugin.HubOptions{})
	options := service.Config{Kubeconfig: c.kubeconfig, Args: plugin.SpazioArgs{Listen: loopback}, Hub: c.hub}
	if slices.Contains(c.config.Profiles, Pronto) {
		options.Profiles = []service.Profile{{Name: Spazio}, {Name: Default, Upstream: true}, {Name: Pronto}}
	}
	scheduler, err := service.New(ctx, options)
	if err != nil {
		return err
	}
	d.services.Start("scheduler", scheduler.Run)
	return c.explain(ctx, d)
}

// explain serves what spazio top and spazio explain ask, and says how.
func (c *cluster) explain(ctx context.Context, d *demo) error {
	handlers := c.targets.Handlers()
	handlers[plugin.DebugPath] = c.hub.Handler()
	server, err := endpoint.New(ctx, endpoint.Config{Addr: loopback, Gatherer: legacyregistry.DefaultGatherer, Handlers: handlers})
	if err != nil {
		return err
	}
	d.services.Start("debug server", server.Run)
	c.targets.Add("spazio-scheduler", "scheduler", legacyregistry.DefaultGatherer)
	d.screen.Printf("spazio top --watch --scheduler http://%s (or spazio explain POD)", server.Addr())
	d.screen.Printf("metrics of each part, as Prometheus' http_sd_configs reads them: http://%s%s", server.Addr(), endpoint.TargetsPath)
	return nil
}
