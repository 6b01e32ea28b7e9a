//go:build kubernetes1.35

package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreBindPreFlight leaves out PreBind for all but overdue pods.
func (p *spazio) PreBindPreFlight(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	return p.preFlight(state)
}

// isGrouped says that a pod is placed with others.
func isGrouped(s *v1.PodSpec) bool { return s.WorkloadRef != nil }
