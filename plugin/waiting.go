package plugin

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// waiting knows the pods that have been tried and are not yet reserved, each
// with the nodes that it waits for, and grants them the slots of these nodes
// as they appear.
//
// A node whose slots rise is due until no pod waits for it or its slots are
// gone. A round grants the slots of the due nodes to the pods that wait for
// them, by priority, then age, and at most as many as there are. An attempt
// that sees a node with a slot either takes it or learns that the pod does not
// fit there, so no pod is woken for the same slot again. Safe for concurrent
// use.
type waiting struct {
	kick chan struct{}
	// waits says whether the API still has a pod and it is unbound; set before
	// the first attempt.
	waits func(*v1.Pod) bool
	// retry is the longest pause between activations, start when the durations
	// began that are times here; both are set like waits.
	retry time.Duration
	start time.Time
	// rules are the Hub's.
	rules *rules
	// classes are those of the pods; mu guards all but what is published.
	classes classes

	mu   sync.Mutex
	pods map[types.UID]*waitingPod
	// byWorkload are those of each workload.
	byWorkload map[profile.Workload]map[*waitingPod]struct{}
	// order are the pods by comparePods.
	order []*waitingPod
	seen  uint64
	// due are the nodes whose slots are still to be granted, granted the pods
	// that slots are kept for, anywhere those that need no certain node.
	due               map[*node]struct{}
	granted, anywhere []*waitingPod
	// failures are of pods that got a slot and were not bound.
	failures map[types.UID]failure
	// bytes is the memory of all reaches, at most maxBytes.
	bytes, maxBytes int
}

const (
	// A pod that does not come to PreFilter within firstPause of its activation
	// is activated again, after twice that, and so on up to the slow retry: an
	// attempt takes milliseconds on an idle scheduler, and to activate a pod that
	// is still queued does nothing. One that was in the middle of an attempt has
	// meanwhile come back to the queue.
	firstPause = 10 * time.Millisecond
	// grantTime is how long a slot is kept for a pod that was activated for it:
	// what holds that pod must not hold up the others for long. An attempt over
	// thousands of nodes takes some tens of milliseconds.
	grantTime = 25 * time.Millisecond
	// A pod that got a slot and was not bound, for another plugin or the API
	// refused it, is next activated after firstBackoff, then twice that and so
	// on up to the slow retry, as kube-scheduler's own back-off, which an
	// activation skips, begins at a second.
	firstBackoff = time.Second
	// maxReachBytes bounds the memory of the sets of nodes: 50,000 pods times
	// 5,000 nodes. A pod beyond is woken for any node.
	maxReachBytes = 32 << 20
)

type waitingPod struct {
	pod      *v1.Pod
	handle   fwk.Handle
	priority int32
	// arrival orders pods of the same priority.
	arrival uint64
	// attempt is the last one, began when it did, last that or the time of a later
	// activation.
	attempt     *attempt
	began, last time.Duration
	// first is the time of the first one.
	first time.Duration
	// since is when the plugin alone first refused it a node, the zero time while
	// there is none or other plugins refuse it all.
	since time.Time
	bytes int
	// workload is the pod's, class the place of the class of what it asks for.
	workload profile.Workload
	class    int
	// activations counts those since the last attempt; the next one comes not
	// before pause.
	activations int
	pause       time.Duration
	// anywhere is set for a pod that needs no certain node to rise.
	anywhere bool
	// granted is the node whose slot the pod was last activated for, until when
	// the slot is kept.
	granted *node
	until   time.Duration
}

// failure counts how often a pod got a slot and was not bound.
type failure struct {
	count int
	// until is when the pod may be activated next.
	until time.Duration
}

// kind is what a pod is and what decisions take it to ask for.
type kind struct {
	workload profile.Workload
	asks     reserve.Demand
}

// attempt is what is remembered of a pod's last scheduling attempt; it holds on
// to none of the cycle's state. Safe for concurrent use.
type attempt struct {
	// decided is what the pod waits for once PreFilter has decided; nil before, and
	// where memory does not allow for it.
	decided atomic.Pointer[reach]
	saw     atomic.Pointer[outline]
	// unknown is set once a node refused the pod that the Hub had yet to be shown: it has
	// room or not as any other, and no set can name it.
	unknown atomic.Bool
}

// reach returns what the pod waits for: all nodes until PreFilter has decided, so
// that a rise meanwhile is not lost.
func (a *attempt) reach() *reach {
	if r := a.decided.Load(); r != nil {
		return r
	}
	return everyNode
}

// waitsForRoom reports whether the plugin alone refused the pod some node.
func (a *attempt) waitsForRoom() bool { return a.unknown.Load() || !a.reach().empty() }

// outline sums up the nodes as an attempt found them.
type outline struct {
	at          time.Time
	nodes, open int
	refusals    []Refusal
}

func newWaiting() *waiting {
	return &waiting{
		kick: make(chan struct{}, 1), pods: make(map[types.UID]*waitingPod), byWorkload: make(map[profile.Workload]map[*waitingPod]struct{}),
		due: make(map[*node]struct{}), failures: make(map[types.UID]failure), maxBytes: maxReachBytes,
	}
}

// begin records that a pod is about to look for a node. handle is only used
// later, from the waker: a scheduler that runs PreFilter has been built, so its
// PodActivator is set, which it is not while New runs. It returns the node whose
// slot the pod was activated for, if it is still kept, and since when it waits for
// room.
func (w *waiting) begin(pod *v1.Pod, handle fwk.Handle, a *attempt, k kind, now time.Duration) (granted *node, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[pod.UID]
	if p == nil {
		w.seen++
		p = &waitingPod{first: now, arrival: w.seen, priority: priorityOf(pod), since: refusedSince(pod), class: typicalClass}
		w.pods[pod.UID] = p
		at, _ := slices.BinarySearchFunc(w.order, p, comparePods)
		w.order = slices.Insert(w.order, at, p)
	} else if w.tried(p); !p.attempt.waitsForRoom() {
		p.since = time.Time{} // other plugins refused it all nodes
	}
	w.account(p, 0)
	w.classify(p, k.asks)
	w.assign(p, k.workload)
	p.pod, p.handle, p.attempt, p.began, p.last = pod, handle, a, now, now
	p.activations, p.pause, p.anywhere = 0, w.failures[pod.UID].until, false
	if p.granted != nil {
		// It is trying for the slot now.
		p.until = now + grantTime
		p.pause = max(p.pause, p.until)
	}
	// A pod that was deleted after it left the queue leaves no event any more.
	if !w.waits(pod) {
		w.forget(pod.UID)
	}
	return p.granted, p.since
}

// decide sets what the pod of an attempt waits for, if memory allows.
func (w *waiting) decide(uid types.UID, a *attempt, r *reach) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil && p.attempt == a && w.account(p, r.bytes()) {
		a.decided.Store(r)
	}
}

// account changes the memory of p's reach, and says whether there is enough.
func (w *waiting) account(p *waitingPod, bytes int) bool {
	if w.bytes-p.bytes+bytes > w.maxBytes {
		return false
	}
	w.bytes += bytes - p.bytes
	p.bytes = bytes
	return true
}

// classify puts a pod into the class of a demand; w.mu is held.
func (w *waiting) classify(p *waitingPod, asks reserve.Demand) {
	place := w.classes.join(asks)
	w.classes.leave(p.class)
	p.class = place
}

// assign notes a pod's workload, the zero one for none; w.mu is held.
func (w *waiting) assign(p *waitingPod, of profile.Workload) {
	if delete(w.byWorkload[p.workload], p); len(w.byWorkload[p.workload]) == 0 {
		delete(w.byWorkload, p.workload)
	}
	if p.workload = of; of == (profile.Workload{}) {
		return
	}
	if w.byWorkload[of] == nil {
		w.byWorkload[of] = make(map[*waitingPod]struct{})
	}
	w.byWorkload[of][p] = struct{}{}
}

// reclass has a workload's pods ask for something else, and returns its class and
// whether there are any that asked for another.
func (w *waiting) reclass(of profile.Workload, asks reserve.Demand) (c *class, moved bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.byWorkload[of] {
		before := p.class
		w.classify(p, asks)
		c, moved = w.classes.at(p.class), moved || p.class != before
	}
	return c, moved
}

// workloads returns those of the pods.
func (w *waiting) workloads() []profile.Workload {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.byWorkload))
}

// sweep forgets classes without pods.
func (w *waiting) sweep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.classes.sweep()
}

// release gives up the slot that was kept for a pod.
func (w *waiting) release(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil && p.granted != nil {
		p.granted, p.pause = nil, w.failures[uid].until
		w.wake()
	}
}

func priorityOf(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// find returns the last attempt of a pod that waits, or nil.
func (w *waiting) find(uid types.UID) *attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil {
		return p.attempt
	}
	return nil
}

// drop forgets a pod that has been bound or is gone.
func (w *waiting) drop(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(uid)
	delete(w.failures, uid)
}

// forget removes a pod; w.mu is held.
func (w *waiting) forget(uid types.UID) {
	p := w.pods[uid]
	if p == nil {
		return
	}
	delete(w.pods, uid)
	w.account(p, 0)
	w.classes.leave(p.class)
	p.class = typicalClass
	w.assign(p, profile.Workload{})
	p.granted, p.anywhere = nil, false
	if at, found := slices.BinarySearchFunc(w.order, p, comparePods); found {
		w.order = slices.Delete(w.order, at, at+1)
	}
}

// reserved forgets a pod that got a slot of the named node, and says when it was first
// tried, if it was.
func (w *waiting) reserved(uid types.UID, name string) (first time.Duration, tried bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[uid]
	if p == nil {
		return 0, false
	}
	if p.granted != nil && p.granted.name != name {
		w.wake() // the slot that was kept for it is free
	}
	w.forget(uid)
	return p.first, true
}

// lost makes a pod whose node changed before it was in flight look again, once.
func (w *waiting) lost(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil {
		p.granted = nil
		p.attempt.decided.Store(everyNode)
		w.free(p)
	}
}

// failed counts a slot that a pod got in vain.
func (w *waiting) failed(pod *v1.Pod, now time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.waits(pod) {
		return
	}
	f := w.failures[pod.UID]
	f.until = now + doubled(firstBackoff, f.count, w.retry)
	f.count++
	w.failures[pod.UID] = f
}

// optOut wakes a pod that has become exempt from the plugin.
func (w *waiting) optOut(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil {
		w.free(p)
	}
}

// free has a pod activated whatever rises; w.mu is held.
func (w *waiting) free(p *waitingPod) {
	p.anywhere = true
	if !slices.Contains(w.anywhere, p) {
		w.anywhere = append(w.anywhere, p)
	}
	w.wake()
}

// rise makes a node due. What opened its slots must be visible already.
func (w *waiting) rise(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due[n] = struct{}{}
	w.wake()
}

// wake asks for a round.
func (w *waiting) wake() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// admit puts a node of which something has changed into the reach of all pods.
func (w *waiting) admit(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.order {
		p.attempt.reach().add(n.id)
	}
}

func (w *waiting) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pods)
}

// comparePods orders by priority, highest first, then by arrival.
func comparePods(a, b *waitingPod) int {
	switch {
	case a.priority != b.priority && a.priority > b.priority, a.priority == b.priority && a.arrival < b.arrival:
		return -1
	case a.priority == b.priority && a.arrival == b.arrival:
		return 0
	}
	return 1
}

// doubled returns first · 2ⁿ, at most most.
func doubled(first time.Duration, n int, most time.Duration) time.Duration {
	for ; n > 0 && first < most; n-- {
		first *= 2
	}
	return min(first, most)
}
