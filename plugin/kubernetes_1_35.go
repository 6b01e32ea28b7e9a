//go:build kubernetes1.35

package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreBindPreFlight skips PreBind for pods that need no condition written.
func (p *spazio) PreBindPreFlight(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	return p.preFlight(state, pod)
}

// isTentative reports whether a cycle only tries whether a gang fits, which there is none for.
func isTentative(fwk.CycleState) bool { return false }

// isGrouped reports whether a pod is scheduled together with others.
func isGrouped(s *v1.PodSpec) bool { return s.WorkloadRef != nil }
