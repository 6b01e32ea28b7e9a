package vpa

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// Equal reports whether an object's status says what it should. A definition that knows no
// generations in a status drops them: they are no difference then.
func Equal(next, is Status) bool {
	if is.ObservedGeneration == nil {
		next.ObservedGeneration = nil
	}
	next.Conditions = slices.Clone(next.Conditions)
	for i := range next.Conditions {
		if i < len(is.Conditions) && is.Conditions[i].ObservedGeneration == 0 {
			next.Conditions[i].ObservedGeneration = 0
		}
	}
	return equality.Semantic.DeepEqual(next, is)
}

// enough is the confidence from which on a recommendation is not of LowConfidence.
const enough = .5

// Next is the status that the object should have at a time, by what is recommended for
// its workload (Workload); not known is nothing, or nothing yet: what was recommended before
// stays. It is to be written where it is not Equal to the object's.
func (o *Object) Next(at time.Time, a profiler.Advice, known bool) Status {
	generation := o.Generation
	next := Status{Recommendation: o.Status.Recommendation, ObservedGeneration: &generation}
	if known {
		next.Recommendation = o.recommend(a.Recommendations)
	}
	_, supported := o.Workload()
	if !supported {
		next.Recommendation = nil
	}
	next.Conditions = slices.Clone(o.Status.Conditions)
	provided := next.Recommendation != nil && len(next.Recommendation.ContainerRecommendations) > 0
	set := func(kind string, holds, absent bool, reason, message string) {
		next.set(at, o.Generation, kind, holds, absent, reason, message)
	}
	if provided {
		set(RecommendationProvided, true, false, "", "")
	} else {
		set(RecommendationProvided, false, false, "NothingMeasured", "no container of a pod of the target was measured, or their policies are all Off")
	}
	confidence := min(a.Demand.CPU.Confidence, a.Demand.Memory.Confidence)
	set(LowConfidence, known && confidence < enough, true, "FewPods", "few pods were measured")
	set(ConfigUnsupported, !supported, true, "NoTarget", "spec.targetRef names no owner of pods")
	return next
}

// set sets a condition; one that is absent where it does not hold is taken away.
func (s *Status) set(at time.Time, generation int64, kind string, holds, absent bool, reason, message string) {
	i := slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == kind })
	if !holds && absent {
		if i >= 0 {
			s.Conditions = slices.Delete(s.Conditions, i, i+1)
		}
		return
	}
	c := Condition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: generation}
	if holds {
		c.Status = corev1.ConditionTrue
	}
	c.LastTransitionTime = metav1.NewTime(at.Truncate(time.Second))
	switch {
	case i < 0:
		s.Conditions = append(s.Conditions, c)
	default:
		if s.Conditions[i].Status == c.Status {
			c.LastTransitionTime = s.Conditions[i].LastTransitionTime
		}
		s.Conditions[i] = c
	}
}

// recommend is what is recommended within the containers' policies, nil if nothing is.
func (o *Object) recommend(all []profile.Recommendation) *Recommendation {
	var made Recommendation
	for _, r := range all {
		p := o.policy(r.Container)
		if r.Container == "" || p.Mode != nil && *p.Mode == "Off" {
			continue
		}
		c := ContainerRecommendation{
			ContainerName: r.Container, Target: p.list(r.Target, true), UncappedTarget: p.list(r.Uncapped, false),
			LowerBound: p.list(r.LowerBound, true), UpperBound: p.list(r.UpperBound, true),
		}
		if len(c.Target) > 0 {
			made.ContainerRecommendations = append(made.ContainerRecommendations, c)
		}
	}
	if made.ContainerRecommendations == nil {
		return nil
	}
	return &made
}

// policy is that of a container, the one of all others if it has none.
func (o *Object) policy(container string) (p ContainerPolicy) {
	if o.Spec.ResourcePolicy == nil {
		return p
	}
	for _, c := range o.Spec.ResourcePolicy.ContainerPolicies {
		switch c.ContainerName {
		case container:
			return c
		case "*":
			p = c
		}
	}
	return p
}

// list writes amounts, of the resources that the policy controls and that are known, within
// its bounds.
func (p *ContainerPolicy) list(a profile.Amounts, capped bool) corev1.ResourceList {
	list := corev1.ResourceList{}
	add := func(name corev1.ResourceName, v float64, q resource.Quantity) {
		if v == 0 || p.ControlledResources != nil && !slices.Contains(*p.ControlledResources, name) {
			return
		}
		if least, ok := p.MinAllowed[name]; capped && ok && q.Cmp(least) < 0 {
			q = least
		}
		if most, ok := p.MaxAllowed[name]; capped && ok && q.Cmp(most) > 0 {
			q = most
		}
		list[name] = q
	}
	add(corev1.ResourceCPU, a.CPU, v1alpha1.Millicores(a.CPU))
	add(corev1.ResourceMemory, a.Memory, v1alpha1.Bytes(a.Memory))
	return list
}
