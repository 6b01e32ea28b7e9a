package podstate

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// IsBound reports whether a pod has its node. From Reserve on every pod has one, because the framework
// assumes it there first; use [WasBound] then.
func IsBound(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }

// boundKey marks a CycleState whose pod had its node when the cycle began. A state belongs to one
// profile, and all its plugins find the same.
const boundKey fwk.StateKey = "spazio-scheduler.github.io/bound"

type boundMark struct{}

// Clone returns the mark itself.
func (m boundMark) Clone() fwk.StateData { return m }

// MarkBound records in PreFilter, for WasBound, whether the pod of a cycle already has its node.
func MarkBound(state fwk.CycleState, pod *v1.Pod) {
	if IsBound(pod) {
		state.Write(boundKey, boundMark{})
	}
}

// WasBound reports whether the pod had its node when the cycle began.
func WasBound(state fwk.CycleState) bool {
	_, err := state.Read(boundKey)
	return err == nil
}
