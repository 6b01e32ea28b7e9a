//go:build !kubernetes1.35

package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// What Kubernetes 1.35 has otherwise is here, and in kubernetes_1_35.go for it.

// PreBindPreFlight leaves out PreBind for pods of which there is nothing to be written.
func (p *spazio) PreBindPreFlight(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, p.preFlight(state, pod)
}

// isGrouped says that a pod is placed with others.
func isGrouped(s *v1.PodSpec) bool { return s.SchedulingGroup != nil }
