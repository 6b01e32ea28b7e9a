package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
)

const (
	// contradictedFor is how long it is said of a workload.
	contradictedFor = time.Hour
	// mostRecommended is the definitions' bound.
	mostRecommended = 64
)

// fill writes an update into a status, and says whether it is news that pods
// contradicted what was known.
func fill(s *v1alpha1.WorkloadProfileStatus, u profiler.Update) (contradicted bool) {
	conditions := s.Conditions
	demand := v1alpha1.FromDemand(u.Demand)
	*s = v1alpha1.WorkloadProfileStatus{
		ObservedAt: &metav1.Time{Time: u.At}, Revision: u.Revision, Pods: u.Pods, Demand: &demand,
		OOMKills: int64(u.OOMKills), Conditions: append([]metav1.Condition(nil), conditions...),
	}
	if u.Throttled > 0 {
		s.Throttled = v1alpha1.FromRatio(u.Throttled)
	}
	for _, d := range u.Slots {
		s.Slots = append(s.Slots, v1alpha1.FromDemand(d))
	}
	if u.P90 > 0 {
		s.Lifetime = &v1alpha1.Lifetime{P50: metav1.Duration{Duration: u.P50}, P90: metav1.Duration{Duration: u.P90}}
	}
	if len(u.Recommendations) > 0 {
		s.Recommendation = recommendationOf(u.Recommendations)
	}
	turned := u.At
	if u.Stale {
		turned = turned.Add(profiler.StaleAfter)
	}
	set := func(kind string, holds bool, reason, otherwise string) bool {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Time{Time: turned}}
		if !holds {
			c.Status, c.Reason = metav1.ConditionFalse, otherwise
		}
		return meta.SetStatusCondition(&s.Conditions, c) && holds
	}
	set(v1alpha1.Ready, true, "Known", "Unknown")
	set(v1alpha1.Stale, u.Stale, "NotMeasured", "Measured")
	return set(v1alpha1.Contradicted, !u.Contradicted.IsZero() && u.At.Sub(u.Contradicted) < contradictedFor, "ThreePods", "AsKnown")
}

func recommendationOf(all []profile.Recommendation) *v1alpha1.Recommendation {
	amounts := func(a profile.Amounts) v1alpha1.Amounts {
		return v1alpha1.Amounts{CPU: v1alpha1.Cores(a.CPU), Memory: v1alpha1.Bytes(a.Memory)}
	}
	r := &v1alpha1.Recommendation{}
	for _, one := range all[:min(len(all), mostRecommended)] {
		r.ContainerRecommendations = append(r.ContainerRecommendations, v1alpha1.ContainerRecommendation{
			ContainerName: one.Container, Target: amounts(one.Target), UncappedTarget: amounts(one.Uncapped),
			LowerBound: amounts(one.LowerBound), UpperBound: amounts(one.UpperBound),
		})
	}
	return r
}
