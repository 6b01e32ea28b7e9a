package demo

import (
	"context"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/profiler/service"
)

// startProfiler runs the program that learns what workloads take, as an installation does.
func (c *cluster) startProfiler(ctx context.Context, d *demo) error {
	ctrllog.SetLogger(logr.Discard()) // what matters is an error
	profiler, err := service.New(ctx, service.Config{Listen: loopback, Kubeconfig: c.kubeconfig, LeaseNamespace: deploy.SystemNamespace})
	if err != nil {
		return err
	}
	c.profiler = profiler.Addr().String()
	d.services.Start("profiler", profiler.Run)
	c.targets.Add("spazio-profiler", "profiler", profiler.Registry())
	return nil
}
