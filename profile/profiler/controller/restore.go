package controller

import (
	"context"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// pageSize is how many checkpoints are read at once: some MB.
const pageSize = 20

// restore begins with the checkpoints that the API has. It waits for an API server
// that can't be reached, not for rights or definitions.
func (c *Controller) restore(ctx context.Context) {
	for next, restored := "", 0; ctx.Err() == nil; {
		list := &v1alpha1.WorkloadProfileCheckpointList{}
		err := c.client.List(ctx, list, client.InNamespace(c.leaseNamespace()), client.Limit(pageSize), client.Continue(next))
		switch {
		case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
			c.metrics.failures.WithLabelValues(v1alpha1.Checkpoints).Inc()
			c.logger.Error("checkpoints are not read; starting without", "verb", "list", "resource", v1alpha1.Checkpoints, "error", err)
			return
		case apierrors.IsResourceExpired(err):
			next = "" // from the beginning: what was restored stays
		case err != nil:
			c.metrics.failures.WithLabelValues(v1alpha1.Checkpoints).Inc()
			c.complain("restore", "checkpoints cannot be read; trying again", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		default:
			for i := range list.Items {
				restored += c.restoreOne(&list.Items[i])
			}
			if next = list.Continue; next == "" {
				c.logger.Info("restored checkpoints", "workloads", restored)
				return
			}
		}
	}
}

// restoreOne returns how many workloads of a checkpoint can be used.
func (c *Controller) restoreOne(o *v1alpha1.WorkloadProfileCheckpoint) (restored int) {
	for i := range o.Workloads {
		w := &o.Workloads[i]
		of := profile.Workload{Namespace: w.Namespace, Kind: w.Kind, Name: w.Name}
		template, _ := strconv.ParseUint(w.Template, 16, 64) // by its pattern, or empty
		kept := profiler.Checkpoint{Workload: of, Template: template, Pods: w.Pods, State: w.Data, Calls: w.Calls}
		refused := func(what string, err error) {
			c.metrics.restored.WithLabelValues("refused").Inc()
			c.complain(what, "a "+what+" can't be used", "checkpoint", o.Namespace+"/"+o.Name, "workload", of.String(), "error", err)
		}
		if err := c.config.Store.Restore(time.Now(), kept); err != nil {
			refused("checkpoint", err)
			continue
		}
		if err := c.config.Store.RestoreCalls(time.Now(), kept); err != nil {
			refused("checkpoint of calls", err)
		}
		restored++
		c.metrics.restored.WithLabelValues("restored").Inc()
	}
	return restored
}

// checkpointOf is the object of a shard.
func (c *Controller) checkpointOf(s profiler.Shard) *v1alpha1.WorkloadProfileCheckpoint {
	o := &v1alpha1.WorkloadProfileCheckpoint{Version: profile.StateVersion, Workloads: []v1alpha1.WorkloadCheckpoint{}}
	o.Namespace, o.Name = c.leaseNamespace(), fmt.Sprintf("workloads-%03d", s.Number)
	for _, one := range s.Checkpoints {
		o.Workloads = append(o.Workloads, v1alpha1.WorkloadCheckpoint{
			Namespace: one.Workload.Namespace, Kind: one.Workload.Kind, Name: one.Workload.Name,
			Template: identityOf(one.Template), Pods: one.Pods, Data: one.State, Calls: one.Calls,
		})
	}
	return o
}
