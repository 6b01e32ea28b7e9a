package podforward

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
)

// Finder returns the name of the pod in a namespace that is to be asked. It is called
// concurrently.
type Finder func(ctx context.Context, client kubernetes.Interface, namespace string) (string, error)

// Errors of the Finders here, wrapped; others are the API server's.
var (
	ErrNoLeader = errors.New("the lease has no holder")
	ErrNoPod    = errors.New("no pod runs there")
)

// Named is the pod of that name.
func Named(pod string) Finder {
	return func(context.Context, kubernetes.Interface, string) (string, error) { return pod, nil }
}

// Leader is the pod that holds the lease, whose identities are the pod's name, alone or
// before an underscore and what makes it unique.
func Leader(lease string) Finder {
	return func(ctx context.Context, client kubernetes.Interface, namespace string) (string, error) {
		l, err := client.CoordinationV1().Leases(namespace).Get(ctx, lease, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("find the leader: %w", err)
		}
		if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
			return "", fmt.Errorf("find the leader: lease %s/%s: %w", namespace, lease, ErrNoLeader)
		}
		holder := *l.Spec.HolderIdentity
		if at := strings.LastIndexByte(holder, '_'); at > 0 {
			holder = holder[:at]
		}
		return holder, nil
	}
}

// Selected is a pod with the labels, on the node unless that is empty: a ready one if
// there is one, and none that is being deleted.
func Selected(labels, node string) Finder {
	return func(ctx context.Context, client kubernetes.Interface, namespace string) (string, error) {
		options := metav1.ListOptions{LabelSelector: labels}
		if node != "" {
			options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
		}
		pods, err := client.CoreV1().Pods(namespace).List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("find a pod with %s: %w", labels, err)
		}
		found := ""
		for _, pod := range pods.Items {
			switch {
			case pod.DeletionTimestamp != nil:
			case ready(pod):
				return pod.Name, nil
			case found == "":
				found = pod.Name
			}
		}
		if found == "" {
			return "", fmt.Errorf("find a pod with %s in namespace %s %s: %w", labels, namespace, options.FieldSelector, ErrNoPod)
		}
		return found, nil
	}
}

func ready(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
