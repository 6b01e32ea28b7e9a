package demo

import (
	"context"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

// startScheduler runs one scheduler with all profiles.
func (c *cluster) startScheduler(ctx context.Context, d *demo) error {
	options := service.Config{Kubeconfig: c.kubeconfig, Args: plugin.SpazioArgs{Listen: loopback}, Hub: c.hub}
	if d.keeps() {
		// The admission policies of test beds allow its own account alone to put pods into slots.
		account, err := writeAccountKubeconfig(ctx, c.plane, "spazio-scheduler")
		if err != nil {
			return err
		}
		options.Kubeconfig, options.Slots = account, &config.SpazioSlotsArgs{}
	}
	scheduler, err := service.New(ctx, options)
	if err != nil {
		return err
	}
	d.services.Start("scheduler", scheduler.Run)
	c.targets.Add("spazio-scheduler", "scheduler", build.Informed("spazio-scheduler", legacyregistry.DefaultGatherer))
	d.screen.Printf("spazio top --watch --url %s (or spazio explain POD, spazio web)", c.address)
	d.screen.Printf("metrics of each part, as Prometheus' http_sd_configs reads them: %s%s", c.address, endpoint.TargetsPath)
	return nil
}
