package simnode

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// MaxPods is the number of pods a node accepts, the kubelet's default.
const MaxPods = 110

// NodeSpec describes a node to the API server.
type NodeSpec struct {
	Name   string
	Cores  int
	Memory float64 // bytes
	// Labels come on top of the host name and the operating system.
	Labels map[string]string
}

// Register creates a ready node, or updates its status if it is there already:
// one that nothing runs on, unlike those of [Start].
func Register(ctx context.Context, client kubernetes.Interface, n NodeSpec) error {
	_, err := register(ctx, client, n)
	return err
}

// register also reports whether the node was new. It retries a status update that conflicts with
// another writer, such as the node lifecycle controller.
func register(ctx context.Context, client kubernetes.Interface, n NodeSpec) (created bool, err error) {
	object := nodeObject(n)
	nodes := client.CoreV1().Nodes()
	_, err = nodes.Create(ctx, object, metav1.CreateOptions{})
	created = err == nil
	if created || apierrors.IsAlreadyExists(err) {
		err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			node, err := nodes.Get(ctx, n.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			node.Status = object.Status
			_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
			return err
		})
	}
	if err != nil {
		return created, fmt.Errorf("simnode: register node %s: %w", n.Name, err)
	}
	return created, nil
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

// removePage is the number of pods that one request deletes; a request for ten thousand times out.
const removePage = 500

// RemovePods deletes all pods of a namespace without grace, and returns when none is left.
func RemovePods(ctx context.Context, client kubernetes.Interface, namespace string) error {
	pods, grace := client.CoreV1().Pods(namespace), int64(0)
	for {
		err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &grace}, metav1.ListOptions{Limit: removePage})
		if err != nil {
			return fmt.Errorf("delete the pods: %w", err)
		}
		left, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return fmt.Errorf("list the pods: %w", err)
		}
		if len(left.Items) == 0 {
			return nil
		}
	}
}
