package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/cmd/internal/simnode"
)

// submit creates n pods of the profile spazio.
func submit(t *testing.T, client kubernetes.Interface, prefix string, n int, startup, work time.Duration) {
	t.Helper()
	var creating sync.WaitGroup
	names := make(chan string)
	for range 8 {
		creating.Go(func() {
			for name := range names {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
						simnode.AnnotationStartup: simnode.FormatSeconds(startup),
						simnode.AnnotationWork:    simnode.FormatSeconds(work),
					}},
					Spec: corev1.PodSpec{
						SchedulerName: schedulerd.SpazioProfile,
						RestartPolicy: corev1.RestartPolicyNever,
						Containers:    []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}},
					},
				}
				if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
					t.Errorf("create pod %s: %v", name, err)
				}
			}
		})
	}
	for i := range n {
		names <- fmt.Sprintf("%s-%03d", prefix, i)
	}
	close(names)
	creating.Wait()
	t.Cleanup(func() { removePods(t, client) })
}

func removePods(t *testing.T, client kubernetes.Interface) {
	grace := int64(0)
	err := client.CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(context.Background(),
		metav1.DeleteOptions{GracePeriodSeconds: &grace}, metav1.ListOptions{})
	if err != nil {
		t.Errorf("delete the pods: %v", err)
	}
}

// podLog follows what the API server says of all pods.
type podLog struct {
	mu    sync.Mutex
	bound map[types.UID]binding
	ended map[types.UID]corev1.PodPhase
}

type binding struct {
	node string
	at   time.Time // when the watch told
}

func watchPods(t *testing.T, client kubernetes.Interface) *podLog {
	t.Helper()
	l := &podLog{bound: map[types.UID]binding{}, ended: map[types.UID]corev1.PodPhase{}}
	informer := coreinformers.NewPodInformer(client, metav1.NamespaceDefault, 0, cache.Indexers{})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    l.see,
		UpdateFunc: func(_, pod any) { l.see(pod) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the pods are not being watched")
	}
	return l
}

func (l *podLog) see(obj any) {
	pod, node := obj.(*corev1.Pod), obj.(*corev1.Pod).Spec.NodeName
	if node == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.bound[pod.UID]; !known {
		l.bound[pod.UID] = binding{node, time.Now()}
	}
	if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		l.ended[pod.UID] = phase
	}
}

// counts returns the pods that were ever bound and those that succeeded.
func (l *podLog) counts() (bound, succeeded int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, phase := range l.ended {
		if phase == corev1.PodSucceeded {
			succeeded++
		}
	}
	return len(l.bound), succeeded
}

// bindings returns all bindings so far.
func (l *podLog) bindings() map[types.UID]binding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.bound)
}

// waitSucceeded waits for n pods to succeed.
func (l *podLog) waitSucceeded(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d pods succeeded", n), func() (bool, any) {
		bound, succeeded := l.counts()
		return succeeded >= n, fmt.Sprintf("%d bound, %d succeeded", bound, succeeded)
	})
}
