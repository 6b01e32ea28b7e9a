package service_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/descheduler/service"
)

func TestIsMovable(t *testing.T) {
	terms := func(key string) []v1.PodAffinityTerm { return []v1.PodAffinityTerm{{TopologyKey: key}} }
	for name, c := range map[string]struct {
		change func(*v1.Pod)
		want   bool
	}{
		"of a ReplicaSet": {func(*v1.Pod) {}, true},
		"of nothing":      {func(p *v1.Pod) { p.OwnerReferences = nil }, false},
		"safe to evict": {func(p *v1.Pod) {
			p.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
		}, true},
		"not safe to evict": {func(p *v1.Pod) {
			p.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
		}, false},
		"not to be disrupted": {func(p *v1.Pod) { p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} }, false},
		"of a gang":           {func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("g")} }, false},
		"with a claim":        {func(p *v1.Pod) { p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}} }, false},
		"affinity": {func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(v1.LabelHostname)}}
		}, false},
		"anti-affinity by node": {func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(v1.LabelHostname)}}
		}, true},
		"anti-affinity by zone": {func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(v1.LabelTopologyZone)}}
		}, false},
		"preferences": {func(p *v1.Pod) {
			weighted := []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: terms(v1.LabelTopologyZone)[0]}}
			p.Spec.Affinity = &v1.Affinity{
				PodAffinity:     &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted},
				PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted},
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: new(true)}}}}
			c.change(pod)
			if got := service.IsMovable(pod); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// The API server refuses the eviction of a pod that has two budgets, whatever they allow.
func TestBudgets(t *testing.T) {
	budget := func(namespace string, allowed int32, selector *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		}
	}
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	other := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
	invalid := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "is"}}}
	for name, c := range map[string]struct {
		budgets []*policyv1.PodDisruptionBudget
		want    bool
	}{
		"none":            {nil, true},
		"one":             {[]*policyv1.PodDisruptionBudget{budget("a", 1, web)}, true},
		"used up":         {[]*policyv1.PodDisruptionBudget{budget("a", 0, web)}, false},
		"two":             {[]*policyv1.PodDisruptionBudget{budget("a", 1, web), budget("a", 1, &metav1.LabelSelector{})}, false},
		"of others":       {[]*policyv1.PodDisruptionBudget{budget("a", 1, web), budget("a", 0, other), budget("b", 0, web)}, true},
		"invalid":         {[]*policyv1.PodDisruptionBudget{budget("a", 1, invalid)}, false},
		"selects nothing": {[]*policyv1.PodDisruptionBudget{budget("a", 0, nil)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Labels: map[string]string{"app": "web"}}}
			if got := service.Allow(c.budgets, pod); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
