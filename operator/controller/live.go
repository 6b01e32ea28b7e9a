package controller

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// reader is where a job's controller reads. What it returns is not to be modified.
type reader interface {
	client.Reader
	// live reports whether the answers are the API server's own.
	live() bool
	testbed(ctx context.Context, name types.NamespacedName) (*v1alpha1.Testbed, error)
	scheduling(ctx context.Context, name types.NamespacedName) (*v1alpha1.Scheduling, error)
	// podsOf returns the pods with the label of the job.
	podsOf(ctx context.Context, job *v1alpha1.BatchJob) ([]corev1.Pod, error)
}

// cacheReader reads from a cache with the indexes. Safe for concurrent use.
type cacheReader struct{ client.Reader }

func (cacheReader) live() bool { return false }

func (c cacheReader) testbed(ctx context.Context, name types.NamespacedName) (*v1alpha1.Testbed, error) {
	tb := &v1alpha1.Testbed{}
	return tb, c.Get(ctx, name, tb, client.UnsafeDisableDeepCopy)
}

func (c cacheReader) scheduling(ctx context.Context, name types.NamespacedName) (*v1alpha1.Scheduling, error) {
	s := &v1alpha1.Scheduling{}
	return s, c.Get(ctx, name, s, client.UnsafeDisableDeepCopy)
}

func (c cacheReader) podsOf(ctx context.Context, job *v1alpha1.BatchJob) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingFields{podBatchJob: string(job.UID)}, client.UnsafeDisableDeepCopy)
	return pods.Items, err
}

// liveReader reads from the API server. When one event concerns many jobs, their Testbed and the
// pods of their namespace are read once for all that wait: a Testbed may be half a megabyte, and
// most pods of a namespace are of other jobs. Safe for concurrent use.
type liveReader struct {
	client.Reader
	testbeds callGroup[types.NamespacedName, struct{}, *v1alpha1.Testbed]
	pods     callGroup[string, types.UID, map[types.UID][]corev1.Pod]
}

func newLiveReader(from client.Reader) *liveReader {
	l := &liveReader{Reader: from}
	l.testbeds.do = func(ctx context.Context, name types.NamespacedName, _ []struct{}) (*v1alpha1.Testbed, error) {
		tb := &v1alpha1.Testbed{}
		return tb, from.Get(ctx, name, tb)
	}
	l.pods.do = l.listPods
	return l
}

func (*liveReader) live() bool { return true }

func (l *liveReader) testbed(ctx context.Context, name types.NamespacedName) (*v1alpha1.Testbed, error) {
	return l.testbeds.ask(ctx, name, struct{}{})
}

func (l *liveReader) scheduling(ctx context.Context, name types.NamespacedName) (*v1alpha1.Scheduling, error) {
	s := &v1alpha1.Scheduling{}
	return s, l.Get(ctx, name, s)
}

func (l *liveReader) podsOf(ctx context.Context, job *v1alpha1.BatchJob) ([]corev1.Pod, error) {
	pods, err := l.pods.ask(ctx, job.Namespace, job.UID)
	return pods[job.UID], err
}

// listPods lists the pods with the labels of jobs.
func (l *liveReader) listPods(ctx context.Context, namespace string, jobs []types.UID) (map[types.UID][]corev1.Pod, error) {
	values := make([]string, len(jobs))
	for i, uid := range jobs {
		values[i] = string(uid)
	}
	of, err := labels.NewRequirement(v1alpha1.LabelBatchJobUID, selection.In, values)
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	selector := labels.SelectorFromSet(labels.Set{v1alpha1.LabelRole: v1alpha1.RoleSlot}).Add(*of)
	if err := l.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	pods := make(map[types.UID][]corev1.Pod)
	for i := range list.Items {
		uid := types.UID(list.Items[i].Labels[v1alpha1.LabelBatchJobUID])
		pods[uid] = append(pods[uid], list.Items[i])
	}
	return pods, nil
}

// callGroup does a thing once for all callers that wait for it at one place, with the keys of all.
// Unlike singleflight it never gives a caller the result of a call that began before the caller
// asked: what was read then may be older than what the caller has written. It runs with the
// context of one of the callers. What is returned must not be modified. Safe for concurrent use.
type callGroup[P comparable, K, V any] struct {
	do func(ctx context.Context, at P, keys []K) (V, error)

	mu sync.Mutex
	// next has the calls that have yet to begin, last those that have begun last and go on.
	next, last map[P]*call[K, V]
}

// call is one call of do for those who share it. done is closed at its end.
type call[K, V any] struct {
	keys  []K
	done  chan struct{}
	value V
	err   error
}

// errNotDone is the error of a call whose do has panicked.
var errNotDone = errors.New("what was waited for was not done")

// ask adds the key to the next call at the place, and returns what came of it. Its first caller
// makes the call once the one before has ended.
func (g *callGroup[P, K, V]) ask(ctx context.Context, at P, key K) (V, error) {
	g.mu.Lock()
	if g.next == nil {
		g.next, g.last = make(map[P]*call[K, V]), make(map[P]*call[K, V])
	}
	c, before := g.next[at], g.last[at]
	if c != nil {
		c.keys = append(c.keys, key)
		g.mu.Unlock()
		<-c.done
		return c.value, c.err
	}
	c = &call[K, V]{keys: []K{key}, done: make(chan struct{}), err: errNotDone}
	g.next[at] = c
	g.mu.Unlock()
	if before != nil {
		<-before.done
	}
	g.mu.Lock()
	delete(g.next, at) // later callers share another call
	g.last[at] = c
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.last[at] == c {
			delete(g.last, at)
		}
		close(c.done)
	}()
	c.value, c.err = g.do(ctx, at, c.keys)
	return c.value, c.err
}
