package batch_test

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

// TestRemove asks for a page at a time until there are no more.
func TestRemove(t *testing.T) {
	const pods = 1200
	client := fake.NewClientset()
	for i := range pods {
		if err := client.Tracker().Add(podOn(fmt.Sprint("pod-", i), "", "")); err != nil {
			t.Fatal(err)
		}
	}
	requests, next := 0, 0
	// The fake deletes no collections.
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
			if err := client.Tracker().Delete(a.GetResource(), batch.Namespace, fmt.Sprint("pod-", next)); err != nil {
				return true, nil, err
			}
			next++
		}
		return true, nil, nil
	})
	if err := batch.Remove(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if requests != 3 {
		t.Errorf("%d requests, want 3 of at most 500 pods", requests)
	}
	left, err := client.CoreV1().Pods(batch.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("%d pods are left, %v", len(left.Items), err)
	}
}

func TestRemoveFails(t *testing.T) {
	refused := errors.New("refused")
	for _, verb := range []string{"delete-collection", "list"} {
		client := fake.NewClientset()
		client.PrependReactor(verb, "pods", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
		if err := batch.Remove(t.Context(), client); !errors.Is(err, refused) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}
