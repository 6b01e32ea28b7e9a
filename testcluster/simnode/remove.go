package simnode

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

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
