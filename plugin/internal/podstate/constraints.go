package podstate

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// IsPlain reports whether the pod asks nothing of a node: no resources, no selector,
// no ports, no volume that is not everywhere. Only a taint keeps it from a node
// with room, except in rare cases (a node with its most pods, another pod's
// anti-affinity), which an attempt there finds out. What such a pod waits for is
// known without a visit of all nodes.
func IsPlain(pod *v1.Pod) bool {
	s := &pod.Spec
	if len(s.NodeSelector) > 0 || s.Affinity != nil || len(s.TopologySpreadConstraints) > 0 ||
		len(s.ResourceClaims) > 0 || len(s.Overhead) > 0 || s.Resources != nil || s.NodeName != "" || isGrouped(s) {
		return false
	}
	return !slices.ContainsFunc(s.InitContainers, asksOfNode) && !slices.ContainsFunc(s.Containers, asksOfNode) &&
		!slices.ContainsFunc(s.Volumes, isElsewhere)
}

func asksOfNode(c v1.Container) bool {
	return len(c.Resources.Requests) > 0 || len(c.Resources.Limits) > 0 || len(c.Resources.Claims) > 0 ||
		slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool { return p.HostPort > 0 })
}

// isElsewhere reports whether a volume may be out of some node's reach.
func isElsewhere(v v1.Volume) bool {
	return v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil && v.HostPath == nil
}

// Tolerates reports whether a pod may go to a node with a taint.
func Tolerates(pod *v1.Pod, taint *v1.Taint) bool {
	for i := range pod.Spec.Tolerations {
		// Whether the cluster compares numbers is unknown: a pod that asks for it
		// is tried.
		if pod.Spec.Tolerations[i].ToleratesTaint(klog.Background(), taint, true) {
			return true
		}
	}
	return false
}

// Taints returns the taints that keep pods from a node.
func Taints(object *v1.Node) []v1.Taint {
	var taints []v1.Taint
	for _, t := range object.Spec.Taints {
		if t.Effect != v1.TaintEffectPreferNoSchedule {
			taints = append(taints, v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
		}
	}
	if object.Spec.Unschedulable {
		taints = append(taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	return taints
}
