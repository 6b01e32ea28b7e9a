package autoscale

import (
	"context"
	"encoding/json"
	"math"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale/plan"
	"github.com/spazio-scheduler/spazio/plugin"
)

// protection is the annotations by which autoscalers leave a node alone.
var protection = []string{"cluster-autoscaler.kubernetes.io/scale-down-disabled", "karpenter.sh/do-not-disrupt"}

// nodes returns the nodes that the API has, with what they measure.
func (c *Controller) nodes() (list []plan.Node) {
	measured := c.hub.MeasuredNodes()
	requested := c.requested(measured)
	for _, m := range measured {
		node, err := c.lister.Get(m.Name)
		if err != nil { // the API has it no more
			continue
		}
		n := plan.Node{
			Name: m.Name, HasReported: m.HasReported, Refuses: m.Refuses, IsMeasured: m.IsMeasured,
			Use: plan.Amount{CPU: m.CPU, Memory: m.Memory}, Requested: requested[m.Name].of(node),
			IsFull: node.Labels[FullLabel] == labelValue, IsProtected: node.Labels[ProtectedLabel] == labelValue,
		}
		for _, key := range protection {
			switch value, is := node.Annotations[key]; {
			case !is:
				n.Unset = append(n.Unset, key)
			case value == labelValue:
				n.Set = append(n.Set, key)
			}
		}
		list = append(list, n)
	}
	return list
}

// sum is what pods request, in cores and bytes.
type sum plan.Amount

// of returns the share of what a node has. A node that states nothing counts as requested
// altogether.
func (s *sum) of(node *corev1.Node) plan.Amount {
	if s == nil {
		return plan.Amount{}
	}
	share := func(requested float64, name corev1.ResourceName) float64 {
		if has := node.Status.Allocatable[name]; !has.IsZero() {
			return requested / has.AsApproximateFloat64()
		}
		return math.Inf(1)
	}
	return plan.Amount{CPU: share(s.CPU, corev1.ResourceCPU), Memory: share(s.Memory, corev1.ResourceMemory)}
}

// requested sums up the requests of the pods on nodes that use much of a resource. On others
// they do not matter.
func (c *Controller) requested(nodes []plugin.MeasuredNode) map[string]*sum {
	above, sums := c.config.WithDefaults().ProtectAbove, map[string]*sum{}
	for _, n := range nodes {
		if n.IsMeasured && (n.CPU > above || n.Memory > above) {
			sums[n.Name] = &sum{}
		}
	}
	if len(sums) == 0 {
		return sums
	}
	for _, pod := range c.hub.Pods() {
		s := sums[pod.Spec.NodeName]
		if s == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		list := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true})
		s.CPU += list.Cpu().AsApproximateFloat64()
		s.Memory += list.Memory().AsApproximateFloat64()
	}
	return sums
}

// mark writes nodes' labels and annotations. It ends at the first error: if one node cannot be
// written, others rarely can.
func (c *Controller) mark(ctx context.Context, changes []plan.NodeChange) error {
	for _, change := range changes {
		labels, annotations := map[string]string{}, map[string]string{}
		if change.Full {
			labels[FullLabel] = labelValue
		}
		if change.Protected {
			labels[ProtectedLabel] = labelValue
		}
		for _, key := range change.Annotations {
			annotations[key] = labelValue
		}
		patch, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "Node",
			"metadata": map[string]any{"name": change.Node, "labels": labels, "annotations": annotations},
		})
		if err != nil {
			return err
		}
		// Without force: what another manager has set differently in the meantime is theirs.
		_, err = c.client.CoreV1().Nodes().Patch(ctx, change.Node, types.ApplyPatchType, patch, applyOptions(false))
		if err != nil && !apierrors.IsNotFound(err) {
			return c.failed("patch", "nodes", change.Node, err)
		}
	}
	return nil
}
