package requestreport

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// fromObject returns what a WorkloadProfile has found. Its amounts are rounded up; the report has the
// middle of the step. The error is a *field.Error.
func fromObject(p *v1alpha1.WorkloadProfile) (knownProfile, error) {
	found := knownProfile{
		Workload: p.Spec.Workload.In(p.Namespace), Stale: meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.Stale),
		HorizontallyScaled: meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.HorizontallyScaled),
	}
	if d := p.Status.Demand; d != nil {
		need, err := d.Value()
		if err != nil {
			return found, err
		}
		found.Need = need.Midpoint()
	}
	if r := p.Status.Recommendation; r != nil {
		for _, c := range r.ContainerRecommendations {
			target := profile.Amounts{CPU: c.Target.CPU.AsApproximateFloat64(), Memory: c.Target.Memory.AsApproximateFloat64()}
			found.Containers = append(found.Containers, containerAdvice{Container: c.ContainerName, Target: target})
		}
	}
	return found, nil
}

// fromAdvice returns what a profiler's Store has found, which is not rounded.
func fromAdvice(of profile.Workload, a profiler.Advice) knownProfile {
	found := knownProfile{Workload: of, Need: a.Demand, Stale: a.Stale}
	for _, r := range a.Recommendations {
		found.Containers = append(found.Containers, containerAdvice{Container: r.Container, Target: r.Target})
	}
	return found
}
