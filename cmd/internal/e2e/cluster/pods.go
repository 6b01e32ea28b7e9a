package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/simnode"
)

// Batch is a number of like pods.
type Batch struct {
	Prefix        string
	Pods          int
	Startup, Work time.Duration
	Profile       string // default SpazioProfile
	Cores         int64  // requested of a node
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
			SchedulerName:     schedulerd.SpazioProfile,
			PriorityClassName: b.PriorityClass,
			RestartPolicy:     corev1.RestartPolicyNever,
			Containers:        []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}},
		},
	}
	if b.Profile != "" {
		pod.Spec.SchedulerName = b.Profile
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
	t.Cleanup(func() { RemovePods(t, client) })
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

// RemovePods takes page by page: the API server gives no request the time to
// delete ten thousand pods.
func RemovePods(t testing.TB, client kubernetes.Interface) {
	t.Helper()
	const page = 500
	pods, grace := client.CoreV1().Pods(metav1.NamespaceDefault), int64(0)
	for {
		err := pods.DeleteCollection(context.Background(), metav1.DeleteOptions{GracePeriodSeconds: &grace}, metav1.ListOptions{Limit: page})
		if err != nil {
			t.Errorf("delete the pods: %v", err)
			return
		}
		left, err := pods.List(context.Background(), metav1.ListOptions{Limit: 1})
		if err != nil {
			t.Errorf("list the pods: %v", err)
			return
		}
		if len(left.Items) == 0 {
			return
		}
	}
}

// PodLog follows what the API server says of all pods.
type PodLog struct {
	mu    sync.Mutex
	bound map[types.UID]binding
	ended map[types.UID]corev1.PodPhase
	moved []string // pods that were bound to two nodes
}

type binding struct {
	Pod, Node string
	At        time.Time // when the watch told
}

// WatchPods follows the pods until the test ends.
func WatchPods(t testing.TB, client kubernetes.Interface) *PodLog {
	t.Helper()
	l := &PodLog{bound: map[types.UID]binding{}, ended: map[types.UID]corev1.PodPhase{}}
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
	t.Cleanup(func() {
		cancel()
		running.Wait()
		for _, moved := range l.moved {
			t.Errorf("bound twice: %s", moved)
		}
	})
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the pods are not being watched")
	}
	return l
}

func (l *PodLog) see(obj any) {
	pod, node := obj.(*corev1.Pod), obj.(*corev1.Pod).Spec.NodeName
	if node == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.bound[pod.UID]; !ok {
		l.bound[pod.UID] = binding{pod.Name, node, time.Now()}
	} else if known.Node != node {
		l.moved = append(l.moved, fmt.Sprintf("%s, to %s and %s", pod.Name, known.Node, node))
	}
	if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		l.ended[pod.UID] = phase
	}
}

// Counts returns the pods that were ever bound and those that succeeded.
func (l *PodLog) Counts() (bound, succeeded int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, phase := range l.ended {
		if phase == corev1.PodSucceeded {
			succeeded++
		}
	}
	return len(l.bound), succeeded
}

// Bindings returns all bindings so far.
func (l *PodLog) Bindings() map[types.UID]binding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.bound)
}

// PerNode counts the bindings of the pods with the given prefix.
func (l *PodLog) PerNode(prefix string) map[string]int {
	counts := map[string]int{}
	for _, b := range l.Bindings() {
		if strings.HasPrefix(b.Pod, prefix+"-") {
			counts[b.Node]++
		}
	}
	return counts
}

// LongestPause returns the longest time without a binding that ended between
// two moments.
func (l *PodLog) LongestPause(from, to time.Time) (longest time.Duration) {
	var times []time.Time
	for _, b := range l.Bindings() {
		times = append(times, b.At)
	}
	slices.SortFunc(times, time.Time.Compare)
	for i := 1; i < len(times); i++ {
		if times[i].After(from) && times[i].Before(to) {
			longest = max(longest, times[i].Sub(times[i-1]))
		}
	}
	return longest
}

// WaitBound waits for n pods to be bound.
func (l *PodLog) WaitBound(t testing.TB, n int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d pods bound", n), func() (bool, any) {
		bound, succeeded := l.Counts()
		return bound >= n, fmt.Sprintf("%d bound, %d succeeded", bound, succeeded)
	})
}

// WaitSucceeded waits for n pods to succeed.
func (l *PodLog) WaitSucceeded(t testing.TB, n int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d pods succeeded", n), func() (bool, any) {
		bound, succeeded := l.Counts()
		return succeeded >= n, fmt.Sprintf("%d bound, %d succeeded", bound, succeeded)
	})
}
