package deploy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What a scheduler with autoscaler.enabled marks nodes with, as package autoscale has it.
var marks = []string{"spazio-scheduler.github.io/full", "spazio-scheduler.github.io/protected"}

const marksManager = "spazio-autoscale"

// unmark removes the scheduler's labels and annotations from nodes, without which the autoscaler would
// never drain them again. They may be there although the autoscaler is disabled by now. It applies
// nothing in their place as the scheduler's field manager, so that what somebody else has set stays.
func (c *Cluster) unmark(ctx context.Context) error {
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
			nothing.SetUID(node.GetUID()) // or the API server creates a node that has been deleted
			err := c.until(ctx, func() (bool, error) {
				_, err := c.dynamic.Resource(resource).Apply(ctx, node.GetName(), nothing, metav1.ApplyOptions{FieldManager: marksManager})
				if apierrors.IsConflict(err) || apierrors.IsInvalid(err) { // it is gone, or another has its name
					err = nil
				}
				return err == nil, err
			})
			if err != nil {
				return fmt.Errorf("deploy: remove the marks of node %s: %w", node.GetName(), err)
			}
		}
	}
	return nil
}
