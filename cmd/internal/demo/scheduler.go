package demo

import (
	"context"

	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/plugin"
)

// startScheduler runs one scheduler with both profiles.
func (c *cluster) startScheduler(ctx context.Context, d *demo) error {
	c.hub = plugin.NewHub(plugin.HubOptions{})
	scheduler, err := schedulerd.New(ctx, schedulerd.Options{
		Kubeconfig: c.kubeconfig,
		Args:       plugin.SpazioArgs{Listen: loopback},
		Hub:        c.hub,
	})
	if err != nil {
		return err
	}
	d.services.start("scheduler", scheduler.Run)
	return nil
}
