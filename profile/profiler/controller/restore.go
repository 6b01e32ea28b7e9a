package controller

import (
	"context"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
)

// pageSize is how many checkpoints are read at once: some MB at most.
const pageSize = 200

// restore begins with the checkpoints that the API has. It waits for an API server
// that can't be reached, not for rights or definitions.
func (c *Controller) restore(ctx context.Context) {
	for next, restored := "", 0; ctx.Err() == nil; {
		list := &v1alpha1.WorkloadProfileCheckpointList{}
		err := c.client.List(ctx, list, client.Limit(pageSize), client.Continue(next))
		switch {
		case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
			c.metrics.failures.WithLabelValues(v1alpha1.Checkpoints).Inc()
			c.logger.Error("checkpoints are not read; starting without", "verb", "list", "resource", v1alpha1.Checkpoints, "error", err)
			return
		case apierrors.IsResourceExpired(err):
			next = "" // from the beginning: what was restored stays
		case err != nil:
			c.metrics.failures.WithLabelValues(v1alpha1.Checkpoints).Inc()
			c.complain("restore", "checkpoints are not read yet", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		default:
			for i := range list.Items {
				if c.restoreOne(&list.Items[i]) {
					restored++
				}
			}
			if next = list.Continue; next == "" {
				c.logger.Info("restored checkpoints", "workloads", restored)
				return
			}
		}
	}
}

func (c *Controller) restoreOne(o *v1alpha1.WorkloadProfileCheckpoint) bool {
	template, _ := strconv.ParseUint(o.Template, 16, 64) // by its pattern, or empty
	err := c.config.Store.Restore(time.Now(), profiler.Checkpoint{
		Workload: o.Workload.In(o.Namespace), Template: template, Pods: o.Pods, State: o.Data,
	})
	if err != nil {
		c.metrics.restored.WithLabelValues("refused").Inc()
		c.complain("checkpoint", "a checkpoint can't be used", "checkpoint", o.Namespace+"/"+o.Name, "error", err)
		return false
	}
	c.metrics.restored.WithLabelValues("restored").Inc()
	return true
}

// checkpointOf is the object of a checkpoint.
func checkpointOf(s profiler.Checkpoint) *v1alpha1.WorkloadProfileCheckpoint {
	name := objectName(s.Workload)
	o := &v1alpha1.WorkloadProfileCheckpoint{
		Workload: v1alpha1.Reference(s.Workload), Template: identityOf(s.Template), Pods: s.Pods, Version: profile.StateVersion, Data: s.State,
	}
	o.Namespace, o.Name = name.Namespace, name.Name
	return o
}
