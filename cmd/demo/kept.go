package demo

import (
	"context"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	operator "github.com/spazio-scheduler/spazio/cmd/testbed/service"
)

// keeps reports whether the cluster outlives the batches, for manifests of the user's own.
func (d *demo) keeps() bool {
	return d.options.Keep || d.options.Web != "" && d.screen.Terminal()
}

// startControllers has Deployments, Jobs and their like make pods, and defines all kinds of
// Spazio.
func (c *cluster) startControllers(ctx context.Context, d *demo) error {
	if err := install(ctx, c.plane, "testbed", "profiler"); err != nil {
		return err
	}
	return startControllers(ctx, c.plane, d.services)
}

// startTestbeds runs the controllers of test beds.
func (c *cluster) startTestbeds(ctx context.Context, d *demo) error {
	ctrllog.SetLogger(logr.Discard()) // what matters is an error
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
