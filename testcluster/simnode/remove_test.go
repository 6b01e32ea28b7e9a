package simnode_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// TestRemovePods deletes a page at a time until none is left.
func TestRemovePods(t *testing.T) {
	const pods = 1200
	client := fake.NewClientset()
	for i := range pods {
		if err := client.Tracker().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprint("pod-", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	requests, next := 0, 0
	// The fake does not delete collections.
	client.PrependReactor("delete-collection", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
		request := a.(k8stesting.DeleteCollectionActionImpl)
		if grace := request.DeleteOptions.GracePeriodSeconds; grace == nil || *grace != 0 {
			t.Errorf("grace %v, want 0", grace)
		}
		requests++
		for range request.ListOptions.Limit {
			if next == pods {
				break
			}
			if err := client.Tracker().Delete(a.GetResource(), metav1.NamespaceDefault, fmt.Sprint("pod-", next)); err != nil {
				return true, nil, err
			}
			next++
		}
		return true, nil, nil
	})
	if err := simnode.RemovePods(t.Context(), client, metav1.NamespaceDefault); err != nil {
		t.Fatal(err)
	}
	if requests != 3 {
		t.Errorf("got %d requests, want 3 of at most 500 pods", requests)
	}
	left, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("got %d remaining pods, %v", len(left.Items), err)
	}
}

func TestRemovePodsFails(t *testing.T) {
	refused := errors.New("refused")
	for _, verb := range []string{"delete-collection", "list"} {
		client := fake.NewClientset()
		client.PrependReactor(verb, "pods", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
		if err := simnode.RemovePods(t.Context(), client, metav1.NamespaceDefault); !errors.Is(err, refused) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}
