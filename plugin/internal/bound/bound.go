// Package bound lets the plugins of a scheduler recognize pods that already have their node
// before the scheduler looks for one.
package bound

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Is reports whether a pod has its node. From Reserve on every pod has one, because the framework
// assumes it there first; use [Was] then.
func Is(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }

// key marks a CycleState whose pod had its node when the cycle began. A state belongs to one
// profile, and all its plugins find the same.
const key fwk.StateKey = "spazio-scheduler.github.io/bound"

type mark struct{}

// Clone returns the mark itself.
func (m mark) Clone() fwk.StateData { return m }

// Mark records in PreFilter, for Was, whether the pod of a cycle already has its node.
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
