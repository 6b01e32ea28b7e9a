package simnodetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

// Batch is a number of like pods. The zero value of a field asks for nothing.
type Batch struct {
	Prefix        string
	Pods          int
	Startup, Work time.Duration
	Scheduler     string // Kubernetes' own by default
	Cores         int64  // requested of a node, with 4 GiB each
	PriorityClass string
	Node          string // the only one that a selector leaves
}

// Pod returns the i-th pod.
func (b Batch) Pod(i int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%05d", b.Prefix, i), Annotations: map[string]string{
			simnode.AnnotationStartup: simnode.FormatSeconds(b.Startup),
			simnode.AnnotationWork:    simnode.FormatSeconds(b.Work),
		}},
		Spec: corev1.PodSpec{
			SchedulerName:     b.Scheduler,
			PriorityClassName: b.PriorityClass,
			RestartPolicy:     corev1.RestartPolicyNever,
			Containers:        []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}},
		},
	}
	if b.Node != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: b.Node}
	}
	if b.Cores > 0 {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewQuantity(b.Cores, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(b.Cores<<32, resource.BinarySI),
		}
	}
	return pod
}

// Submit creates the pods, which the end of the test removes.
func Submit(t testing.TB, client kubernetes.Interface, b Batch) {
	t.Helper()
	t.Cleanup(func() { Remove(t, client) })
	var creating sync.WaitGroup
	pods := make(chan *corev1.Pod)
	for range 8 {
		creating.Go(func() {
			for pod := range pods {
				if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
					t.Errorf("create pod %s: %v", pod.Name, err)
				}
			}
		})
	}
	for i := range b.Pods {
		pods <- b.Pod(i)
	}
	close(pods)
	creating.Wait()
}

// Remove removes all pods.
func Remove(t testing.TB, client kubernetes.Interface) {
	t.Helper()
	if err := batch.Remove(context.Background(), client); err != nil {
		t.Error(err)
	}
}

// Log follows what the API server says of all pods.
type Log struct{ *batch.Log }

// Watch follows the pods until the test ends, and fails it for one that was
// bound to two nodes.
func Watch(t testing.TB, client kubernetes.Interface) *Log {
	t.Helper()
	l, err := batch.Watch(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		for _, moved := range l.Moved() {
			t.Errorf("bound twice: %s", moved)
		}
	})
	return &Log{l}
}

// WaitBound waits for n pods to be bound.
func (l *Log) WaitBound(t testing.TB, n int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d pods bound", n), func() (bool, any) {
		bound, succeeded := l.Counts()
		return bound >= n, fmt.Sprintf("%d bound, %d succeeded", bound, succeeded)
	})
}

// WaitSucceeded waits for n pods to succeed.
func (l *Log) WaitSucceeded(t testing.TB, n int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d pods succeeded", n), func() (bool, any) {
		bound, succeeded := l.Counts()
		return succeeded >= n, fmt.Sprintf("%d bound, %d succeeded", bound, succeeded)
	})
}
