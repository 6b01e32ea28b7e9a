// Package objects shows the plugins of a scheduler the objects of the Kubernetes API: by client-go's
// informers, also those of kinds that may be absent, and each pod by what its spec and status show.
package objects

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/reserve"
)

// IsNodeOwned reports whether a pod is a node's own: a static pod's mirror, or one of a
// DaemonSet, whose controller ties each to a node by name. An owner reference alone proves
// nothing; with the node's name it gives an author no more than spec.nodeName does.
func IsNodeOwned(pod *v1.Pod) bool {
	if IsMirror(pod) {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet" && isTied(pod)
}

// isTied reports whether a pod may run only on one node, which it names.
func isTied(pod *v1.Pod) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t v1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(t.MatchFields, func(r v1.NodeSelectorRequirement) bool {
			return r.Key == metav1.ObjectNameField && r.Operator == v1.NodeSelectorOpIn && len(r.Values) == 1
		})
	})
}

// IsMirror reports whether a pod is the mirror of a static pod. A static pod's cgroup has
// a UID that its mirror in the API does not have, so no report would ever list the mirror.
// Another author's pod with the annotation takes no room either: kubelet runs no mirror,
// and deletes one without a static pod.
func IsMirror(pod *v1.Pod) bool {
	_, ok := pod.Annotations[v1.MirrorPodAnnotationKey]
	return ok
}

// IsTerminal reports whether a pod has ended.
func IsTerminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// Priority returns a pod's priority, 0 if it has none.
func Priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// Condition returns a pod's condition if it has the given status, or nil.
func Condition(pod *v1.Pod, kind v1.PodConditionType, status v1.ConditionStatus) *v1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind && c.Status == status {
			return c
		}
	}
	return nil
}

// Unscheduled returns the scheduler's message of why a pod has no node, empty for a pod that has one
// or was not tried.
func Unscheduled(pod *v1.Pod) string {
	if c := Condition(pod, v1.PodScheduled, v1.ConditionFalse); c != nil {
		return c.Message
	}
	return ""
}

// ScheduledAt returns when a pod was bound, in whole seconds, or the zero time.
func ScheduledAt(pod *v1.Pod) time.Time {
	if c := Condition(pod, v1.PodScheduled, v1.ConditionTrue); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// StartedAt returns when the first of a pod's containers first ran, as far as the API still
// knows, or the zero time if none has.
func StartedAt(pod *v1.Pod) (first time.Time) {
	note := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if r := c.State.Running; r != nil {
			note(r.StartedAt.Time)
		}
		for _, t := range []*v1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if t != nil {
				note(t.StartedAt.Time)
			}
		}
	}
	return first
}

// EndedAt returns when the last of a pod's containers ended, in whole seconds, or the zero time
// if none has or the API does not state when.
func EndedAt(pod *v1.Pod) (last time.Time) {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

// Progress returns how far a pod has come, as its containers' statuses show it.
func Progress(pod *v1.Pod) reserve.Progress {
	status := &pod.Status
	switch {
	case slices.ContainsFunc(status.ContainerStatuses, hasEnded):
		return reserve.Ended
	case slices.ContainsFunc(status.ContainerStatuses, isRunning):
		return reserve.Starting
	case slices.ContainsFunc(status.ContainerStatuses, isStalled), slices.ContainsFunc(status.InitContainerStatuses, isStalled):
		return reserve.Stalled
	case len(pod.Spec.InitContainers) > 0:
		return reserve.Initializing
	}
	return reserve.Starting
}

// Standing returns how a pod's containers stand. Init containers and sidecars do not count: a
// pod in which only they run is still on its way.
func Standing(pod *v1.Pod) (s reserve.Standing) {
	status := &pod.Status
	all := status.ContainerStatuses
	for i := range all {
		s.Restarts += all[i].RestartCount
	}
	s.Runs = len(all) >= len(pod.Spec.Containers) && slices.ContainsFunc(all, isRunning) &&
		!slices.ContainsFunc(all, func(c v1.ContainerStatus) bool { return c.State.Running == nil && c.State.Terminated == nil })
	s.Held = !s.Runs && (slices.ContainsFunc(all, isStalled) || slices.ContainsFunc(status.InitContainerStatuses, isStalled))
	return s
}

// hasEnded reports whether a container has already run to an end. Its pod may never be in a
// report again, so after a restart of the scheduler, a pod that waits between two crashes must
// not count as one that is about to start.
func hasEnded(s v1.ContainerStatus) bool {
	return s.RestartCount > 0 || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
}

func isRunning(s v1.ContainerStatus) bool { return s.State.Running != nil }

// isStalled reports whether kubelet could not start a container and will try again: its image
// can't be pulled, it refers to something that does not exist, or it keeps crashing. kubelet has
// more than a dozen reasons for this, and two for an ordinary start.
func isStalled(s v1.ContainerStatus) bool {
	if s.State.Waiting == nil {
		return false
	}
	switch s.State.Waiting.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return false
	}
	return true
}

// IsBound reports whether a pod has its node. From Reserve on every pod has one, because the framework
// assumes it there first; use [WasBound] then.
func IsBound(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }

// Activation is a pod with the handle that activates it.
type Activation struct {
	Pod    *v1.Pod
	Handle fwk.Handle
}

// Activate moves pods to the front of their scheduler's queue. The profiles of a scheduler share one
// queue, so any of the handles reaches it; one call for each handle is enough.
func Activate(ctx context.Context, list []Activation) {
	pods := make(map[fwk.Handle]map[string]*v1.Pod)
	for _, a := range list {
		if pods[a.Handle] == nil {
			pods[a.Handle] = make(map[string]*v1.Pod)
		}
		pods[a.Handle][string(a.Pod.UID)] = a.Pod
	}
	for handle, of := range pods {
		handle.Activate(klog.FromContext(ctx), of)
	}
}

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
