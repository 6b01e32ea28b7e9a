// Package lives orders a scheduler's queue by how long the pods of each workload live. It is a queue
// sort plugin, of which package plugin makes that of the name ShortestFirst.
package lives

import (
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	informers "k8s.io/client-go/informers/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
	"github.com/spazio-scheduler/spazio/profile"
)

const (
	// maxLives bounds the workloads whose pods' lives are known, of some 200 bytes each.
	maxLives = 16384
	// minQueueKeys is the number of keys below which none is checked for pods that are gone.
	minQueueKeys = 1024
)

// shortestFirst is the plugin of one profile. E is the type of the queue's entries, which Kubernetes
// 1.35 and 1.36 call otherwise.
type shortestFirst[E queued] struct{ lives *Lives }

// queued is what entries of the scheduler's queue have in all versions of Kubernetes.
type queued interface{ GetTimestamp() time.Time }

var _ fwk.QueueSortPlugin = sortBy(fwk.LessFunc(nil), nil)

// sortBy returns a plugin whose Less is a LessFunc.
func sortBy[E queued](_ func(a, b E) bool, l *Lives) shortestFirst[E] { return shortestFirst[E]{l} }

// Name returns the plugin's name.
func (s shortestFirst[E]) Name() string { return s.lives.config.Name }

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

// Lives holds how long the pods of each workload live, as the scheduler sees them end. It is not in
// use unless ShortestFirst is enabled. Safe for concurrent use. Its mutex may be taken with that of
// the scheduler's queue or of waiting held, never the other way round.
type Lives struct {
	isOn atomic.Bool
	// The config and pods are set before the first event, and isOn after them.
	config Config
	pods   listers.PodLister

	mu       sync.Mutex
	expected *placement.Lives[profile.Workload]
	// keys are those of pods in the scheduler's queue, kept is how many were left when they were
	// last checked, at checked.
	keys    map[types.UID]queueKey
	kept    int
	checked time.Time
}

// Config is what Lives need to know of pods. A plain value.
type Config struct {
	// Name is that of the queue sort plugin.
	Name string
	// Workload returns a pod's workload, Counts whether its life counts.
	Workload func(*v1.Pod) profile.Workload
	Counts   func(*v1.Pod) bool
	Now      func() time.Time
}

// Plugin returns the queue sort plugin. The first call begins to follow the pods' ends.
func (l *Lives) Plugin(c Config, pods informers.PodInformer) (fwk.Plugin, error) {
	if l.isOn.Load() {
		return sortBy(fwk.LessFunc(nil), l), nil
	}
	l.config, l.pods = c, pods.Lister()
	l.expected, l.keys = placement.NewLives[profile.Workload](maxLives), make(map[types.UID]queueKey)
	_, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			old, _ := before.(*v1.Pod)
			if pod, ok := after.(*v1.Pod); ok && old != nil && !podstate.IsTerminal(old) && podstate.IsTerminal(pod) {
				l.end(pod)
			}
		},
		// The scheduler's informer leaves out pods that have ended: to it they are deleted then. It
		// is not known when a pod ended whose deletion was missed.
		DeleteFunc: func(obj any) {
			if pod, ok := obj.(*v1.Pod); ok && !podstate.IsTerminal(pod) {
				l.end(pod)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	l.isOn.Store(true)
	return sortBy(fwk.LessFunc(nil), l), nil
}

// IsOn reports whether Plugin was called.
func (l *Lives) IsOn() bool { return l.isOn.Load() }

// end notes that a pod has ended now. Its life counts from its bind, because it takes a slot from
// then on.
func (l *Lives) end(pod *v1.Pod) {
	bound := podstate.ScheduledAt(pod)
	if bound.IsZero() || !l.config.Counts(pod) {
		return
	}
	of := l.config.Workload(pod)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected.Add(of, l.config.Now().Sub(bound))
}

// Delay returns how much later than it was created a pod of a workload counts as created now, 0
// before the first call of Plugin.
func (l *Lives) Delay(of profile.Workload) time.Duration {
	if !l.isOn.Load() {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expected.Delay(of)
}

// Expected returns how long a pod of a workload is expected to live.
func (l *Lives) Expected(of profile.Workload) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expected.Expected(of)
}

// QueueKeys returns for how many pods the order of the scheduler's queue is kept.
func (l *Lives) QueueKeys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys)
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
func (l *Lives) key(e queued) int64 {
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
	created := pod.CreationTimestamp.UnixNano() + int64(l.expected.Delay(l.config.Workload(pod)))
	l.keys[pod.UID] = queueKey{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, entered, created}
	return created
}

// dropKeys drops the keys of pods that are no longer pending, once there are twice as many keys as
// were left the last time, or after a minute. So at most as many keys stay as pods were pending when the
// keys were last checked, and as many again.
func (l *Lives) dropKeys(now time.Time) {
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
		return podstate.Priority(pod)
	}
	return 0
}
