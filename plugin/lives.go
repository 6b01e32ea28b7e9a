package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	informers "k8s.io/client-go/informers/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/profile"
)

// ShortestFirst is the name of a queue sort plugin in a KubeSchedulerConfiguration. It tries the
// pods of the highest priority first and, of these, those of workloads whose pods live for less. All
// profiles of a scheduler share one queue, so all of them have to enable the same queue sort plugin.
const ShortestFirst = "ShortestFirst"

var errNoArgs = errors.New("it takes no arguments")

// NewShortestFirst makes the plugin ShortestFirst of one profile; it is a PluginFactory. The first
// call begins to follow the pods' ends, through the handle's informers. Static pods, pods of
// DaemonSets and placeholders do not count towards how long a workload's pods live.
func (h *Hub) NewShortestFirst(_ context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	if args != nil {
		return nil, fmt.Errorf("plugin: %s: %w", ShortestFirst, errNoArgs)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.lives.isOn.Load() {
		if err := h.lives.follow(h, handle.SharedInformerFactory().Core().V1().Pods()); err != nil {
			return nil, fmt.Errorf("plugin: %s: follow pods: %w", ShortestFirst, err)
		}
	}
	return sortBy(fwk.LessFunc(nil), &h.lives), nil
}

const (
	// maxLives bounds the workloads whose pods' lives are known, of some 200 bytes each.
	maxLives = 16384
	// minQueueKeys is the number of keys below which none is checked for pods that are gone.
	minQueueKeys = 1024
)

// shortestFirst is the plugin of one profile. E is the type of the queue's entries, which Kubernetes
// 1.35 and 1.36 call otherwise.
type shortestFirst[E queued] struct{ lives *lives }

// queued is what entries of the scheduler's queue have in all versions of Kubernetes.
type queued interface{ GetTimestamp() time.Time }

var _ fwk.QueueSortPlugin = sortBy(fwk.LessFunc(nil), nil)

// sortBy returns a plugin whose Less is a LessFunc.
func sortBy[E queued](_ func(a, b E) bool, l *lives) shortestFirst[E] { return shortestFirst[E]{l} }

// Name returns the plugin's name.
func (shortestFirst[E]) Name() string { return ShortestFirst }

// Less orders the queue by priority, by when pods count as created, and by when they entered the
// queue.
func (s shortestFirst[E]) Less(a, b E) bool {
	if p, q := queuedPriority(a), queuedPriority(b); p != q {
		return p > q
	}
	if x, y := s.lives.key(a), s.lives.key(b); x != y {
		return x < y
	}
	return a.GetTimestamp().Before(b.GetTimestamp())
}

// lives holds how long the pods of each workload live, as the scheduler sees them end. It is not in
// use unless ShortestFirst is enabled. Safe for concurrent use. Its mutex may be taken with that of
// the scheduler's queue or of waiting held, never the other way round.
type lives struct {
	isOn atomic.Bool
	// The hub and pods are set before the first event, and isOn after them.
	hub  *Hub
	pods listers.PodLister

	mu       sync.Mutex
	expected *placement.Lives[profile.Workload]
	// keys are those of pods in the scheduler's queue, kept is how many were left when they were
	// last checked, at checked.
	keys    map[types.UID]queueKey
	kept    int
	checked time.Time
}

// follow begins to follow the pods' ends.
func (l *lives) follow(h *Hub, pods informers.PodInformer) error {
	l.hub, l.pods = h, pods.Lister()
	l.expected, l.keys = placement.NewLives[profile.Workload](maxLives), make(map[types.UID]queueKey)
	_, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			old, _ := before.(*v1.Pod)
			if pod, ok := after.(*v1.Pod); ok && old != nil && !objects.IsTerminal(old) && objects.IsTerminal(pod) {
				l.end(pod)
			}
		},
		// The scheduler's informer leaves out pods that have ended: to it they are deleted then. It
		// is not known when a pod ended whose deletion was missed.
		DeleteFunc: func(obj any) {
			if pod, ok := obj.(*v1.Pod); ok && !objects.IsTerminal(pod) {
				l.end(pod)
			}
		},
	})
	l.isOn.Store(err == nil)
	return err
}

// end notes that a pod has ended now. Its life counts from its bind, because it takes a slot from
// then on.
func (l *lives) end(pod *v1.Pod) {
	bound := objects.ScheduledAt(pod)
	if bound.IsZero() || objects.IsNodeOwned(pod) || l.hub.Placeholder(pod.UID) {
		return
	}
	of := l.hub.workloads.identify(pod)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected.Add(of, l.hub.clock().Sub(bound))
}

// delay returns how much later than it was created a pod of a workload counts as created now, 0
// unless ShortestFirst is enabled.
func (l *lives) delay(of profile.Workload) time.Duration {
	if !l.isOn.Load() {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expected.Delay(of)
}

// queueKey is when a pod counts as created. It is made when the pod enters the active queue at a
// time, and stays until it does so again: the order in a heap must not change.
type queueKey struct {
	pod     types.NamespacedName
	entered time.Time
	created int64 // nanoseconds since 1970
}

// key returns when a pod in the scheduler's queue counts as created. A group of pods counts as the
// first of them.
func (l *lives) key(e queued) int64 {
	pod, entered := queuedPod(e), e.GetTimestamp()
	if pod == nil {
		return entered.UnixNano()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, known := l.keys[pod.UID]; known && k.entered.Equal(entered) {
		return k.created
	}
	l.dropKeys(entered)
	created := pod.CreationTimestamp.UnixNano() + int64(l.expected.Delay(l.hub.workloads.identify(pod)))
	l.keys[pod.UID] = queueKey{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, entered, created}
	return created
}

// dropKeys drops the keys of pods that are no longer pending, once there are twice as many keys as
// were left the last time, or after a minute. So at most as many keys stay as pods were pending when the
// keys were last checked, and as many again.
func (l *lives) dropKeys(now time.Time) {
	if len(l.keys) < minQueueKeys || len(l.keys) < 2*l.kept && now.Sub(l.checked) < time.Minute {
		return
	}
	l.checked = now
	for uid, k := range l.keys {
		current, err := l.pods.Pods(k.pod.Namespace).Get(k.pod.Name)
		if err != nil || current.UID != uid || current.Spec.NodeName != "" {
			delete(l.keys, uid)
		}
	}
	l.kept = len(l.keys)
}

// queuedPod returns the pod of an entry of the scheduler's queue, of a group that of its first pod,
// nil if it has none.
func queuedPod(e queued) *v1.Pod {
	switch e := e.(type) {
	case interface{ GetPodInfo() fwk.PodInfo }:
		return e.GetPodInfo().GetPod()
	case interface{ GetUnscheduledPods() []*v1.Pod }:
		if pods := e.GetUnscheduledPods(); len(pods) > 0 {
			return pods[0]
		}
	}
	return nil
}

func queuedPriority(e queued) int32 {
	if e, ok := e.(interface{ GetPriority() int32 }); ok {
		return e.GetPriority()
	}
	if pod := queuedPod(e); pod != nil { // before Kubernetes 1.37
		return objects.Priority(pod)
	}
	return 0
}
