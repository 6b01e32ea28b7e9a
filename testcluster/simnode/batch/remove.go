package batch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// removePage is how many pods are deleted by one request: the API server gives
// none the time to delete ten thousand.
const removePage = 500

// Remove deletes all pods of Namespace, whoever made them, without grace, and
// returns when none is left.
func Remove(ctx context.Context, client kubernetes.Interface) error {
	pods, grace := client.CoreV1().Pods(Namespace), int64(0)
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
