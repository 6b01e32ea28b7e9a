package simnode

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusPatch is the change of a pod's status that a transition calls for.
func statusPatch(w write) ([]byte, error) {
	at := w.at
	status := corev1.PodStatus{Phase: corev1.PodRunning}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: w.started}}
	switch w.transition.Phase {
	case Running:
		status.StartTime = &w.started
		if ip := w.transition.IP; ip != "" {
			status.PodIP, status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
		}
	case Succeeded:
		status.Phase = corev1.PodSucceeded
		state = terminated(w.started, at, 0, "Completed")
	case Failed:
		status.Phase = corev1.PodFailed
		state = terminated(w.started, at, 1, "Error")
	default:
		return nil, fmt.Errorf("no status for phase %v", w.transition.Phase)
	}
	if w.rejected != nil { // no container of it was ever made
		status.Reason, status.Message = w.rejected.reason, w.rejected.message
		w.containers = nil
	}
	running := w.transition.Phase == Running
	ready := corev1.ConditionFalse
	if running {
		ready = corev1.ConditionTrue
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: kind, Status: ready, LastTransitionTime: at,
		})
	}
	for _, name := range w.containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Ready: running, Started: &running, State: state,
		})
	}
	// The UID guards a pod of the same name made since.
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.uid}, "status": status})
}

func terminated(started, at metav1.Time, code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, StartedAt: started, FinishedAt: at,
	}}
}
