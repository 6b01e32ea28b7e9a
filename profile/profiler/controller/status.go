package controller

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/resize"
)

const (
	// contradictedFor is how long it is said of a workload.
	contradictedFor = time.Hour
	// mostRecommended is the definitions' bound.
	mostRecommended = 64
	mostName        = 253
)

// fill writes an update into a status, and reports whether it is news that pods
// contradicted what was known.
func fill(s *v1alpha1.WorkloadProfileStatus, u profiler.Update) (contradicted bool) {
	conditions := s.Conditions
	demand := v1alpha1.FromDemand(u.Demand)
	*s = v1alpha1.WorkloadProfileStatus{
		ObservedAt: &metav1.Time{Time: u.At}, Revision: u.Revision, Pods: u.Pods, Demand: &demand,
		OOMKills: int64(u.OOMKills), Conditions: append([]metav1.Condition(nil), conditions...),
	}
	s.Application, s.Factors = u.Application[:min(len(u.Application), mostName)], factorsOf(u)
	for _, f := range u.Connections {
		s.Connections = append(s.Connections, connectionOf(f))
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

func factorsOf(u profiler.Update) *v1alpha1.Factors {
	if u.Factors == nil {
		return nil
	}
	return &v1alpha1.Factors{
		CPU: v1alpha1.FromFactor(u.Factors.CPU), Memory: v1alpha1.FromFactor(u.Factors.Memory),
		At: metav1.Time{Time: u.Factors.At}, Applied: u.Corrected,
	}
}

func connectionOf(f connection.Flow) v1alpha1.Connection {
	return v1alpha1.Connection{
		Kind: f.To.Kind, Namespace: f.To.Namespace, Name: f.To.Name,
		RequestBytesPerSecond: int64(math.Round(f.Request)), ResponseBytesPerSecond: int64(math.Round(f.Response)),
	}
}

// factorsIn are those of a status, none if they are such as this program does not write.
func factorsIn(s *v1alpha1.WorkloadProfileStatus) continuous.Factors {
	if s.Factors == nil {
		return continuous.Factors{}
	}
	cpu, err := s.Factors.CPU.Value()
	memory, err2 := s.Factors.Memory.Value()
	if err != nil || err2 != nil {
		return continuous.Factors{}
	}
	return continuous.Factors{CPU: cpu, Memory: memory, At: s.Factors.At.Time}
}

// fill writes an update into a status, and what else its conditions say.
func (c *Controller) fill(s *v1alpha1.WorkloadProfileStatus, u profiler.Update) (contradicted bool) {
	contradicted = fill(s, u)
	switch {
	case c.scalers == nil:
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.HorizontallyScaled)
	case c.scalers.all():
		by := c.scalers.scaling(u.Workload)
		condition := metav1.Condition{
			Type: v1alpha1.HorizontallyScaled, Status: metav1.ConditionTrue, Reason: by.String(),
			Message: "the number of pods follows what they use of what they request, which is not changed",
		}
		if by == (resize.Scaling{}) {
			condition.Status, condition.Message = metav1.ConditionFalse, ""
		}
		meta.SetStatusCondition(&s.Conditions, condition)
	}
	return contradicted
}

func recommendationOf(all []profile.Recommendation) *v1alpha1.Recommendation {
	amounts := func(a profile.Amounts) v1alpha1.Amounts {
		return v1alpha1.Amounts{CPU: v1alpha1.Millicores(a.CPU), Memory: v1alpha1.Bytes(a.Memory)}
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
