package resize

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// Scaling says by which resources' utilisation, what pods use of what they request, an
// autoscaler sets their number: another request would be another number of pods. It is a
// plain value, safe for concurrent use.
type Scaling struct{ CPU, Memory bool }

// Or is by either.
func (s Scaling) Or(o Scaling) Scaling { return Scaling{s.CPU || o.CPU, s.Memory || o.Memory} }

// String names the resources as a condition's reason does.
func (s Scaling) String() string {
	switch {
	case s.CPU && s.Memory:
		return "CPUAndMemory"
	case s.CPU:
		return "CPU"
	case s.Memory:
		return "Memory"
	}
	return "None"
}

// ScalingOf is what an autoscaler scales, and by what.
func ScalingOf(h *autoscalingv2.HorizontalPodAutoscaler) (of profile.Workload, by Scaling) {
	for i := range h.Spec.Metrics {
		var name corev1.ResourceName
		var target autoscalingv2.MetricTarget
		switch m := &h.Spec.Metrics[i]; {
		case m.Resource != nil:
			name, target = m.Resource.Name, m.Resource.Target
		case m.ContainerResource != nil:
			name, target = m.ContainerResource.Name, m.ContainerResource.Target
		}
		if target.Type == autoscalingv2.UtilizationMetricType {
			by = by.Or(Scaling{CPU: name == corev1.ResourceCPU, Memory: name == corev1.ResourceMemory})
		}
	}
	ref := h.Spec.ScaleTargetRef
	return profiler.Target(h.Namespace, ref.Kind, ref.Name), by
}
