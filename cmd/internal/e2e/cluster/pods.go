package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// Patience bounds every wait of a test, so that a hang fails; nothing is expected to take that long.
const Patience = 3 * time.Minute

// Eventually waits until the condition holds. If it does not within Patience, the test fails and
// prints the state that the condition returned last.
func Eventually(t testing.TB, what string, condition func() (ok bool, state any)) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		ok, state := condition()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v; now %+v", what, Patience, state)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Join has nodes join the cluster until the test ends. Errors of the nodes fail the test.
func Join(t testing.TB, c simnode.Config) []*simnode.Node {
	t.Helper()
	c.OnError = func(err error) { t.Error(err) }
	fleet, err := simnode.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(fleet.Err(), fleet.Close()); err != nil {
			t.Error(err)
		}
	})
	return fleet.Nodes()
}

// Cores is the number of cores of a large node: so many that requests never decide.
const Cores = 32

// large describes a node with more cores and memory than any pod requests.
func large(name string) simnode.NodeSpec {
	return simnode.NodeSpec{Name: name, Cores: Cores, Memory: 128 << 30}
}

// Register creates a large node without a kubelet. The end of the test removes it.
func Register(t testing.TB, client kubernetes.Interface, node string) {
	t.Helper()
	if err := simnode.Register(t.Context(), client, large(node)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := client.CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("delete node %s: %v", node, err)
		}
	})
}

// Batch describes a number of equal pods. The zero value of a field requests nothing.
type Batch struct {
	Prefix        string
	Pods          int
	Startup, Work time.Duration
	Scheduler     string // default Spazio's profile
	Cores         int64  // requested, with 4 GiB each
	PriorityClass string
	Node          string // the only node that the pods' selector allows
}

// Pod returns the i-th pod.
func (b Batch) Pod(i int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%05d", b.Prefix, i), Annotations: map[string]string{
			simnode.AnnotationStartup: simnode.FormatSeconds(b.Startup),
			simnode.AnnotationWork:    simnode.FormatSeconds(b.Work),
		}},
		Spec: corev1.PodSpec{
			SchedulerName:     cmp.Or(b.Scheduler, service.SpazioProfile),
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

// Submit creates the pods of a batch. The end of the test removes them.
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

// Remove deletes all pods of the namespace default.
func Remove(t testing.TB, client kubernetes.Interface) {
	t.Helper()
	if err := simnode.RemovePods(context.Background(), client, metav1.NamespaceDefault); err != nil {
		t.Error(err)
	}
}

type binding struct {
	Pod, Node string
	At        time.Time // when the watch delivered it
}

// bindings holds the bindings of pods by UID.
type bindings map[types.UID]binding

// PerNode counts the bindings of pods whose names begin with the prefix.
func (b bindings) PerNode(prefix string) map[string]int {
	counts := map[string]int{}
	for _, one := range b {
		if strings.HasPrefix(one.Pod, prefix) {
			counts[one.Node]++
		}
	}
	return counts
}

// LongestPause returns the longest time without a binding that ended between two moments.
func (b bindings) LongestPause(from, to time.Time) (longest time.Duration) {
	var times []time.Time
	for _, one := range b {
		times = append(times, one.At)
	}
	slices.SortFunc(times, time.Time.Compare)
	for i := 1; i < len(times); i++ {
		if times[i].After(from) && times[i].Before(to) {
			longest = max(longest, times[i].Sub(times[i-1]))
		}
	}
	return longest
}

// Log records what the API server reports of all pods of the namespace default: a view of a
// scheduler's work that does not depend on the nodes. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	bound bindings
	ended map[types.UID]corev1.PodPhase
	moved []string
}

// Watch follows the pods until the test ends, and fails it for a pod that was bound to two nodes.
func Watch(t testing.TB, client kubernetes.Interface) *Log {
	t.Helper()
	l := &Log{bound: bindings{}, ended: map[types.UID]corev1.PodPhase{}}
	informer := coreinformers.NewPodInformer(client, metav1.NamespaceDefault, 0, cache.Indexers{})
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    l.observe,
		UpdateFunc: func(_, pod any) { l.observe(pod) },
	})
	if err != nil {
		t.Fatal(err)
	}
	running, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { informer.RunWithContext(running) })
	t.Cleanup(func() {
		cancel()
		watching.Wait()
		for _, moved := range l.moved {
			t.Errorf("bound twice: %s", moved)
		}
	})
	if !cache.WaitForCacheSync(t.Context().Done(), handler.HasSynced) {
		t.Fatalf("watch the pods: %v", context.Cause(t.Context()))
	}
	return l
}

func (l *Log) observe(obj any) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.bound[pod.UID]; !ok {
		l.bound[pod.UID] = binding{pod.Name, pod.Spec.NodeName, time.Now()}
	} else if known.Node != pod.Spec.NodeName {
		l.moved = append(l.moved, fmt.Sprintf("%s, to %s and %s", pod.Name, known.Node, pod.Spec.NodeName))
	}
	if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		l.ended[pod.UID] = phase
	}
}

// Counts returns how many pods were ever bound and how many succeeded.
func (l *Log) Counts() (bound, succeeded int) {
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
func (l *Log) Bindings() bindings {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.bound)
}

// WaitBound waits for n pods to be bound.
func (l *Log) WaitBound(t testing.TB, n int) {
	t.Helper()
	l.wait(t, fmt.Sprintf("%d pods bound", n), func(bound, _ int) bool { return bound >= n })
}

// WaitSucceeded waits for n pods to succeed.
func (l *Log) WaitSucceeded(t testing.TB, n int) {
	t.Helper()
	l.wait(t, fmt.Sprintf("%d pods succeeded", n), func(_, succeeded int) bool { return succeeded >= n })
}

func (l *Log) wait(t testing.TB, what string, done func(bound, succeeded int) bool) {
	t.Helper()
	Eventually(t, what, func() (bool, any) {
		bound, succeeded := l.Counts()
		return done(bound, succeeded), fmt.Sprintf("%d bound, %d succeeded", bound, succeeded)
	})
}
