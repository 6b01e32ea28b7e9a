package simnode

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
)

// amounts are what pods request, or a node has.
type amounts struct{ milliCores, memory, pods int64 }

func (a amounts) plus(b amounts) amounts {
	return amounts{a.milliCores + b.milliCores, a.memory + b.memory, a.pods + b.pods}
}

func (a amounts) minus(b amounts) amounts {
	return amounts{a.milliCores - b.milliCores, a.memory - b.memory, a.pods - b.pods}
}

// requestsOf is what the pod as a whole requests.
func requestsOf(pod *corev1.Pod) amounts {
	list := resource.PodRequests(pod, resource.PodResourcesOptions{})
	return amounts{list.Cpu().MilliValue(), list.Memory().Value(), 1}
}

// rejection is why a kubelet does not run a pod that was bound to its node.
type rejection struct{ reason, message string }

// admit lets a pod in if its node has what it requests beside those that have not
// ended. k.mu is held.
func (k *kubelet) admit(t *tracked, requests amounts) *rejection {
	spec, held := k.machines[t.node].Spec(), k.held[t.node]
	has := amounts{int64(spec.Cores) * 1000, int64(spec.Memory), MaxPods}
	for _, r := range []struct {
		name                 corev1.ResourceName
		requested, used, has int64
	}{
		{corev1.ResourcePods, requests.pods, held.pods, has.pods},
		{corev1.ResourceCPU, requests.milliCores, held.milliCores, has.milliCores},
		{corev1.ResourceMemory, requests.memory, held.memory, has.memory},
	} {
		if r.requested > 0 && r.used+r.requested > r.has {
			t.finished = true
			return &rejection{"OutOf" + string(r.name), fmt.Sprintf(
				"Pod was rejected: Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", r.name, r.requested, r.used, r.has)}
		}
	}
	t.requests = requests
	k.held[t.node] = held.plus(requests)
	return nil
}

// release frees what a pod held, once. k.mu is held.
func (k *kubelet) release(t *tracked) {
	k.held[t.node] = k.held[t.node].minus(t.requests)
	t.requests = amounts{}
}

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
