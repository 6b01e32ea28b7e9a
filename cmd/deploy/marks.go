package deploy

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What a scheduler with autoscaler.enabled marks nodes with, as package autoscale has it, and the
// role by which it may.
var marks = []string{"spazio-scheduler.github.io/full", "spazio-scheduler.github.io/protected"}

const (
	marksManager = "spazio-autoscale"
	marksRole    = "spazio-scheduler-autoscale"
)

// unmark removes the scheduler's labels and annotations from nodes, without which the autoscaler would
// never drain them again. It applies nothing in their place as the scheduler's field manager, so
// that what somebody else has set stays.
func (c *Cluster) unmark(ctx context.Context, installed []mapped) error {
	if !slices.ContainsFunc(installed, func(o mapped) bool { return o.id.Resource == "clusterroles" && o.id.Name == marksRole }) {
		return nil
	}
	resource := corev1.SchemeGroupVersion.WithResource("nodes")
	for _, mark := range marks {
		nodes, err := c.list(ctx, resource, "", metav1.ListOptions{LabelSelector: mark})
		if err != nil {
			return err
		}
		for _, node := range nodes {
			nothing := &unstructured.Unstructured{}
			nothing.SetAPIVersion("v1")
			nothing.SetKind("Node")
			nothing.SetName(node.GetName())
			err := c.until(ctx, func() (bool, error) {
				_, err := c.dynamic.Resource(resource).Apply(ctx, node.GetName(), nothing, metav1.ApplyOptions{FieldManager: marksManager})
				return err == nil || apierrors.IsNotFound(err), ignoreNotFound(err)
			})
			if err != nil {
				return fmt.Errorf("deploy: remove the marks of node %s: %w", node.GetName(), err)
			}
		}
	}
	return nil
}
