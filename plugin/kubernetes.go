//go:build !kubernetes1.35

package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// This file holds what differs in Kubernetes 1.35, for which kubernetes_1_35.go replaces it.

// PreBindPreFlight skips PreBind for pods that need no condition written.
func (p *spazio) PreBindPreFlight(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, p.preFlight(state, pod)
}

// isTentative reports whether a cycle only tries whether a gang fits: all that it reserves is taken
// back.
func isTentative(state fwk.CycleState) bool { return state.IsPodGroupSchedulingCycle() }

// isGrouped reports whether a pod is scheduled together with others.
func isGrouped(s *v1.PodSpec) bool { return s.SchedulingGroup != nil }
