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
	seen uint64
	// byWorkload is what the pods of each workload have in common, groups are the pods
	// that are alike, and reaches what they wait for.
	byWorkload map[profile.Workload]*kin
	groups     map[alike]*group
	reaches
	// young are the pods that wait for room and are not overdue, by when something is to be
	// done about that, and marks those to be marked in the API. wanting counts all that wait
	// for room, lates the overdue.
	young          queue
	marks          []*waitingPod
	wanting, lates int
	// open are the attempts that may still add nodes to what their pods wait for.
	open []openAttempt
	// due are the nodes whose slots are still to be granted, granted the pods
	// that slots are kept for, anywhere those that need no certain node.
	due      map[*node]struct{}
	granted  []*waitingPod
	anywhere map[*waitingPod]struct{}
	// failures are of pods that got a slot and were not bound.
	failures map[types.UID]failure
}

// openAttempt is a pod's attempt and what the pod waits for.
type openAttempt struct {
	pod     *waitingPod
	attempt *attempt
	reach   *reach
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
	// workload is the pod's, group that of the pods like it; late is set once it is overdue.
	workload profile.Workload
	group    *group
	late     bool
	// marked is set once the pod's condition waits-for-room is due to be written, inAPI once it
	// has been.
	marked, inAPI bool
	// turn is its place among those of the group that are ready or, unless isReady, that
	// pause; the others are its places in the group's queue idle and in young.
	turn, idlePlace, sincePlace int
	isReady                     bool
	// activations counts those since the last attempt; the next one comes not
	// before pause.
	activations int
	pause       time.Duration
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
	saw atomic.Pointer[attemptSummary]
	// refused is set once the plugin alone has refused the pod some node.
	refused atomic.Bool
}

// refuse notes that the plugin alone refused the pod a node, and reports whether that is the
// first. Many nodes are refused at a time.
func (a *attempt) refuse() (first bool) {
	return !a.refused.Load() && a.refused.CompareAndSwap(false, true)
}

// attemptSummary sums up the nodes as an attempt found them.
type attemptSummary struct {
	at          time.Time
	nodes, open int
	refusals    []Refusal
}

func newWaiting() *waiting {
	w := &waiting{
		kick: make(chan struct{}, 1), pods: make(map[types.UID]*waitingPod), byWorkload: make(map[profile.Workload]*kin),
		groups: make(map[alike]*group), reaches: newReaches(), anywhere: make(map[*waitingPod]struct{}),
		due: make(map[*node]struct{}), failures: make(map[types.UID]failure),
	}
	w.young = queue{at: bySince, before: func(a, b *waitingPod) bool {
		return a.stage(&w.rules.trickle).Before(b.stage(&w.rules.trickle))
	}}
	return w
}

// begin records that a pod is about to look for a node. handle is only used
// later, from the waker: a scheduler that runs PreFilter has been built, so its
// PodActivator is set, which it is not while New runs. It returns the node whose
// slot the pod was activated for, if it is still kept, and since when it waits for
// room. Until decide tells what the pod waits for it waits for all nodes, so that a rise
// meanwhile is not lost.
func (w *waiting) begin(pod *v1.Pod, handle fwk.Handle, a *attempt, k kind, now time.Duration) (granted *node, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finish()
	p := w.pods[pod.UID]
	if p == nil {
		w.seen++
		p = &waitingPod{first: now, arrival: w.seen, priority: priorityOf(pod)}
		since = roomSince(pod)
		p.marked = !since.IsZero()
		p.inAPI = p.marked
		w.pods[pod.UID] = p
	} else {
		w.tried(p)
		if since = p.since; !p.attempt.refused.Load() {
			since = time.Time{} // other plugins refused it all nodes
		}
		w.part(p)
		w.dismiss(p)
	}
	delete(w.anywhere, p)
	p.pod, p.handle, p.attempt, p.began, p.last = pod, handle, a, now, now
	p.activations, p.pause = 0, w.failures[pod.UID].until
	if p.granted != nil {
		// It is trying for the slot now.
		p.until = now + grantTime
		p.pause = max(p.pause, p.until)
	}
	w.enlist(p, k.workload, k.asks)
	w.join(p, everyNode)
	w.wantRoom(p, since)
	// A pod that was deleted after it left the queue leaves no event any more.
	if !w.waits(pod) {
		w.forget(pod.UID)
	}
	return p.granted, p.since
}

// decide sets what the pod of an attempt waits for, the nodes that the plugin alone refused
// it; unless all of them are known, the attempt adds more.
func (w *waiting) decide(uid types.UID, a *attempt, r *reach, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[uid]
	if p == nil || p.attempt != a {
		return
	}
	if all {
		if !r.empty() {
			a.refuse()
		}
		r = w.share(r)
	} else {
		w.open = append(w.open, openAttempt{p, a, r})
	}
	if w.fits(r) {
		w.wait(p, r)
		w.tried(p)
		return
	}
	// Where memory does not allow for it the pod stays with all nodes. It may be woken for one
	// that refuses it again and again, so it pauses like a pod that could not be bound once.
	a.refuse()
	w.tried(p)
	w.change(p, func() { p.pause = max(p.pause, p.last+firstBackoff) })
}

// finish does what is left to do of the attempts before, of which the framework makes one at a
// time: their sets are complete. One that is not is added to what its pod waits for then, too.
func (w *waiting) finish() {
	for _, o := range w.open {
		p := o.pod
		if w.pods[p.pod.UID] != p || p.attempt != o.attempt {
			continue
		}
		if p.group.reach != o.reach {
			continue
		}
		kept := w.share(o.reach)
		if kept != o.reach {
			o.reach.twin.Store(kept)
			kept.include(o.reach) // what was added meanwhile
		}
		w.wait(p, kept)
	}
	w.open = w.open[:0]
}

// reclass has a workload's pods ask for something else, and returns its class and
// whether there are any that asked for another.
func (w *waiting) reclass(of profile.Workload, asks reserve.Demand) (c *class, moved bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.byWorkload[of]
	if k == nil {
		return nil, false
	}
	before := k.class
	w.classify(k, asks)
	return w.classes.at(k.class), k.class != before
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
		w.change(p, func() { p.granted, p.pause = nil, w.failures[uid].until })
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
	w.wantRoom(p, time.Time{})
	w.part(p)
	w.dismiss(p)
	delete(w.pods, uid)
	delete(w.anywhere, p)
	p.granted = nil
}

// reserved forgets a pod that got a slot of the named node, and says when it was first
// tried, if it was, and whether the API has it marked as waiting for room.
func (w *waiting) reserved(uid types.UID, name string) (first time.Duration, tried, marked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[uid]
	if p == nil {
		return 0, false, false
	}
	if p.granted != nil && p.granted.name != name {
		w.wake() // the slot that was kept for it is free
	}
	marked = p.inAPI
	w.forget(uid)
	return p.first, true, marked
}

// lost makes a pod whose node changed before it was in flight look again, once.
func (w *waiting) lost(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil {
		w.part(p)
		p.granted = nil
		p.attempt.refuse()
		w.join(p, everyNode)
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
	w.anywhere[p] = struct{}{}
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
	w.reaches.admit(n.id)
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
