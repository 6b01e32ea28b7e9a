package simnode

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// MaxPods is the number of pods a node accepts, the kubelet's default.
const MaxPods = 110

// NodeSpec is what a node says of itself to the API server.
type NodeSpec struct {
	Name   string
	Cores  int
	Memory float64 // bytes
	Labels map[string]string
}

// Register creates a ready node, or updates its status if it is there already.
func Register(ctx context.Context, client kubernetes.Interface, n NodeSpec) error {
	node := nodeObject(n)
	created, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		created, err = client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("register node %s: %w", n.Name, err)
	}
	created.Status = node.Status
	if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("register node %s: %w", n.Name, err)
	}
	return nil
}

func nodeObject(n NodeSpec) *corev1.Node {
	labels := map[string]string{corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux"}
	for k, v := range n.Labels {
		labels[k] = v
	}
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(n.Cores), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(n.Memory), resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(MaxPods, resource.DecimalSI),
	}
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels},
		Status: corev1.NodeStatus{
			Capacity:    resources,
			Allocatable: resources,
			Conditions: []corev1.NodeCondition{{
				Type:               corev1.NodeReady,
				Status:             corev1.ConditionTrue,
				Reason:             "KubeletReady",
				Message:            "simulated",
				LastHeartbeatTime:  now,
				LastTransitionTime: now,
			}},
		},
	}
}

// statusPatch is the change of a pod's status that a transition calls for.
func statusPatch(w write) ([]byte, error) {
	// The API's times are for people, who live by the wall clock.
	at := metav1.Now()
	status := corev1.PodStatus{Phase: corev1.PodRunning}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
	switch w.transition.Phase {
	case Running:
		status.StartTime = &at
	case Succeeded:
		status.Phase = corev1.PodSucceeded
		state = terminated(at, 0, "Completed")
	case Failed:
		status.Phase = corev1.PodFailed
		state = terminated(at, 1, "Error")
	default:
		return nil, fmt.Errorf("no status for phase %v", w.transition.Phase)
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

func terminated(at metav1.Time, code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, FinishedAt: at,
	}}
}
