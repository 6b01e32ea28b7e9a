//go:build kubernetes1.35

package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreBindPreFlight leaves out PreBind for pods of which there is nothing to be written.
func (p *spazio) PreBindPreFlight(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	return p.preFlight(state, pod)
}

// isGrouped says that a pod is placed with others.
func isGrouped(s *v1.PodSpec) bool { return s.WorkloadRef != nil }
