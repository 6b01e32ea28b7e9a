package autoscale

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/spazio-scheduler/spazio/plugin"
)

// protection is the annotations by which autoscalers leave a node alone.
var protection = []string{"cluster-autoscaler.kubernetes.io/scale-down-disabled", "karpenter.sh/do-not-disrupt"}

// nodes returns the nodes that the API has, with what they measure.
func (c *Controller) nodes() (list []plannedNode) {
	measured := c.hub.MeasuredNodes()
	requested := c.requested(measured)
	for _, m := range measured {
		node, err := c.lister.Get(m.Name)
		if err != nil { // the API has it no more
			continue
		}
		n := planned(m, node)
		n.Requested, n.IsDeferred = requested[m.Name].of(node), c.deferred.isDeferred(m.Name, c.now())
		list = append(list, n)
	}
	return list
}

// planned returns a node as it measures itself and as the API has it. A label of ours to which somebody
// gave another value is theirs: the node never gets what it stands for.
func planned(m plugin.MeasuredNode, node *corev1.Node) plannedNode {
	n := plannedNode{
		Name: m.Name, HasReported: m.HasReported, Refuses: m.Refuses && isOurs(node.Labels, plugin.FullLabel),
		IsReady: isReady(node), IsMeasured: m.IsMeasured, Use: amount{CPU: m.CPU, Memory: m.Memory},
		IsFull: node.Labels[plugin.FullLabel] == labelValue, IsProtected: node.Labels[plugin.ProtectedLabel] == labelValue,
	}
	for _, key := range protection {
		switch _, is := node.Annotations[key]; {
		case !isOurs(node.Labels, plugin.ProtectedLabel) || !isOurs(node.Annotations, key):
		case is:
			n.Set = append(n.Set, key)
		default:
			n.Unset = append(n.Unset, key)
		}
	}
	return n
}

// isOurs reports whether a label or an annotation is ours to write: it has no value, or ours.
func isOurs(values map[string]string, key string) bool {
	value, is := values[key]
	return !is || value == labelValue
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// sum is what pods request, in cores and bytes.
type sum amount

// of returns the share of what a node has. A node that states nothing counts as requested
// altogether.
func (s *sum) of(node *corev1.Node) amount {
	if s == nil {
		return amount{}
	}
	share := func(requested float64, name corev1.ResourceName) float64 {
		if has := node.Status.Allocatable[name]; !has.IsZero() {
			return requested / has.AsApproximateFloat64()
		}
		return math.Inf(1)
	}
	return amount{CPU: share(s.CPU, corev1.ResourceCPU), Memory: share(s.Memory, corev1.ResourceMemory)}
}

// requested sums up the requests of the pods on nodes that use much of a resource. On others
// they do not matter.
func (c *Controller) requested(nodes []plugin.MeasuredNode) map[string]*sum {
	above, sums := c.config.withDefaults().ProtectAbove, map[string]*sum{}
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
