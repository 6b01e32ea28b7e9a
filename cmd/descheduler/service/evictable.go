package service

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/descheduler/pkg/utils"
)

// isEvictable reports whether a pod may be evicted: because something makes another in its place
// elsewhere, by its disruption budgets, and by the evictor, which has the policy's say and is asked last
// because it may look at all nodes.
func (r *reliever) isEvictable(pod *v1.Pod, of func() budgets) bool {
	e := r.handle.Evictor()
	return isMovable(pod) && !r.service.hub.Placeholder(pod.UID) && e.Filter(pod) && of().allow(pod) && e.PreEvictionFilter(pod)
}

// The annotations by which a pod asks cluster-autoscaler and Karpenter not to be evicted.
const (
	safeToEvict  = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	doNotDisrupt = "karpenter.sh/do-not-disrupt"
)

// isMovable reports whether a pod's replacement may run elsewhere. Pods whose nodes other objects decide
// are not moved, because whether a node suits them is not checked beforehand.
func isMovable(pod *v1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || utils.IsDaemonsetPod(pod.OwnerReferences) || utils.IsMirrorPod(pod) || utils.IsStaticPod(pod) ||
		pod.Annotations[safeToEvict] == "false" || pod.Annotations[doNotDisrupt] == "true" ||
		pod.Spec.SchedulingGroup != nil || len(pod.Spec.ResourceClaims) > 0 {
		return false
	}
	a := pod.Spec.Affinity
	if a == nil {
		return true
	}
	if a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		return false
	}
	if a.PodAntiAffinity != nil {
		for _, term := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if term.TopologyKey != v1.LabelHostname {
				return false
			}
		}
	}
	return true
}

// budgets are the disruption budgets by namespace. Nil ones allow nothing.
type budgets map[string][]budget

type budget struct {
	selector labels.Selector
	allows   bool
}

// listBudgets returns nil if they are not known.
func (r *reliever) listBudgets() budgets {
	list, err := r.budgets.List(labels.Everything())
	if err != nil {
		return nil
	}
	return compile(list)
}

// compile takes a budget whose selector is not valid for one of all pods that allows none.
func compile(list []*policyv1.PodDisruptionBudget) budgets {
	all := make(budgets)
	for _, b := range list {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			selector = labels.Everything()
		}
		all[b.Namespace] = append(all[b.Namespace], budget{selector, err == nil && b.Status.DisruptionsAllowed > 0})
	}
	return all
}

// allow reports whether a pod has no disruption budget, or one that allows an eviction. The API server
// refuses others; a pod that it will refuse must not be chosen. It refuses all that have two budgets.
func (all budgets) allow(pod *v1.Pod) bool {
	matches := 0
	for _, b := range all[pod.Namespace] {
		if !b.selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if matches++; matches > 1 || !b.allows {
			return false
		}
	}
	return all != nil
}
