package demo

import (
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// Pods that arrive together all exist before the first can be scheduled, and each one's time counts
// from then, however slow the API server is.
func TestPodsAtOnceExistBeforeTheFirstIsScheduled(t *testing.T) {
	client := fake.NewClientset()
	var mu sync.Mutex
	var verbs []string
	client.PrependReactor("*", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		verbs = append(verbs, a.GetVerb())
		if c, ok := a.(k8stesting.CreateAction); ok && len(c.GetObject().(*corev1.Pod).Spec.SchedulingGates) != 1 {
			t.Error("a pod can be scheduled as soon as it is created")
		}
		return false, nil, nil
	})
	run := newBatchRun("mine", "mine", make([]batchTask, 40))
	before := time.Now()
	if err := run.submit(t.Context(), client, simnode.Clock{}); err != nil {
		t.Fatal(err)
	}
	if want := slices.Concat(slices.Repeat([]string{"create"}, 40), slices.Repeat([]string{"patch"}, 40)); !slices.Equal(verbs, want) {
		t.Errorf("got requests %v", verbs)
	}
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 40 {
		t.Fatalf("%d pods, %v, want 40", len(pods.Items), err)
	}
	for _, pod := range pods.Items {
		if len(pod.Spec.SchedulingGates) > 0 {
			t.Errorf("%s keeps %v", pod.Name, pod.Spec.SchedulingGates)
		}
	}
	records := run.snapshot()
	for _, r := range records {
		if !r.Created.Equal(records[0].Created) || r.Created.Before(before) {
			t.Errorf("%s: got start %v, the first %v", r.Name, r.Created, records[0].Created)
		}
	}
	if late := run.lateness(); late <= 0 || late > time.Since(before) {
		t.Errorf("got the last released %v after the first", late)
	}
}
