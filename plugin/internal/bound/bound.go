// Package bound tells the plugins of a scheduler which pods have their node before the
// scheduler looks for one.
package bound

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Is reports whether a pod has its node. In Reserve and later it has one in any case: the
// framework assumes it there first. What counts then is [Was].
func Is(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }

// key marks a CycleState whose pod had its node when the cycle began. A state is of one profile,
// whose plugins all find the same.
const key fwk.StateKey = "spazio-scheduler.github.io/bound"

type mark struct{}

// Clone returns the mark itself.
func (m mark) Clone() fwk.StateData { return m }

// Mark notes in PreFilter, for Was, that the pod of a cycle has its node, if so.
func Mark(state fwk.CycleState, pod *v1.Pod) {
	if Is(pod) {
		state.Write(key, mark{})
	}
}

// Was reports whether the pod had its node when the cycle began.
func Was(state fwk.CycleState) bool {
	_, err := state.Read(key)
	return err == nil
}
