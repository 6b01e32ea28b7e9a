package demo

import (
	"context"

	operator "github.com/spazio-scheduler/spazio/cmd/testbed/service"
)

// keeps reports whether the cluster outlives the batches, for manifests of the user's own.
func (d *demo) keeps() bool {
	return d.options.Keep || d.options.Web != "" && d.screen.Terminal()
}

// startTestbeds runs the controllers of test beds.
func (c *cluster) startTestbeds(ctx context.Context, d *demo) error {
	kubeconfig, err := writeAccountKubeconfig(ctx, c.plane, "spazio-testbed")
	if err != nil {
		return err
	}
	beds, err := operator.New(ctx, operator.Config{Kubeconfig: kubeconfig})
	if err != nil {
		return err
	}
	d.services.Start("test beds", beds.Run)
	return nil
}
