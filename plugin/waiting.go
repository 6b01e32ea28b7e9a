package plugin

import (
	"math"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	// A woken pod that does not come to PreFilter within firstPause is woken again, after twice
	// that, and so on up to the slow retry: an attempt takes milliseconds on an idle scheduler, and
	// to activate a pod that is still queued does nothing.
	firstPause = 10 * time.Millisecond
	// grantTime is how long a slot is kept for the pod that was woken for it. What holds that pod
	// must not hold up the others. An attempt over thousands of nodes takes tens of milliseconds.
	grantTime = 25 * time.Millisecond
	// A pod that got a slot and was not bound, because another plugin or the API refused it, is next
	// woken after firstBackoff, then twice that and so on up to the slow retry. Activation skips
	// kube-scheduler's own back-off, which begins at a second.
	firstBackoff = time.Second
	// wakesPerInspection bounds the pods that an inspection activates, both those of the slow
	// retry, which covers what waking missed, and the overdue ones: neither must flood the queue.
	wakesPerInspection = 16
	// A pod is marked once it has waited for maxWait/markFraction: most pods find room earlier
	// and cost no write.
	markFraction = 4
)

// waiting holds the pods that were tried and are not yet bound. It translates between them and the
// numbers of a [placement.Queue], which decides which pods to wake and when. Safe for concurrent
// use. Its mutex may be taken with a node's mutex held, never the other way round.
type waiting struct {
	// due signals that the Queue has something to do earlier than planned.
	due chan struct{}
	waitingConfig

	mu    sync.Mutex
	queue *placement.Queue
	// at is the time of the operation under way, planned when the next round is due at the latest.
	at      reserve.Moment
	planned time.Duration
	// nodes are by their ids, nil where there is none; changes counts those that joined or lost a
	// taint.
	nodes   []*node
	changes int
	// tentative are the nodes on which pods of a gang are reserved that is being tried.
	tentative map[*node]*tentativeNode
	pods      map[types.UID]*waitingPod
	// byNumber are the pods by their numbers in the Queue, nil where there is none.
	byNumber []*waitingPod
	numbers  numbers
	arrivals int64
	demands
	// open is the attempt that may still add nodes to what its pod waits for: the newest.
	open *openAttempt
	// wanting counts the pods that wait for room. unmarked are those that are not yet marked in the
	// API for that, the oldest first, but those that the API refused to mark last.
	wanting  int
	unmarked []waitBegin
}

// waitingConfig is set before the first attempt.
type waitingConfig struct {
	// isPending reports whether the API still has a pod and it is unbound.
	isPending func(*v1.Pod) bool
	// moment returns the time of a decision that is made now, start is when its durations began.
	moment func() reserve.Moment
	start  time.Time
	// retry is the longest pause between wakes, maxWait when a pod is overdue, 0 for never.
	retry, maxWait time.Duration
	rules          *rules
	lives          *lives
}

// waitingPod is a pod that was tried and is not yet bound.
type waitingPod struct {
	pod    *v1.Pod
	handle fwk.Handle
	// arrival counts the pods as they were first tried.
	number  int
	arrival int64
	*workloadDemand
	// attempt is the last attempt and began when it started; first is the time of the first
	// attempt.
	attempt      *attempt
	began, first time.Duration
	// since is when the plugin alone first refused the pod a node, the zero time while there is none
	// or other plugins refuse it all.
	since time.Time
	// isMarked is set once the pod's condition waits-for-room is being written, inAPI once it
	// has been.
	isMarked, inAPI bool
	// isReserved is set while the pod has a node and is not yet bound. It waits for nothing then.
	isReserved bool
}

// waitBegin is when a pod began to wait for room.
type waitBegin struct {
	pod   *waitingPod
	since time.Time
}

// openAttempt is an attempt in which Filter still refuses nodes; settled is how many of them the
// Queue knows.
type openAttempt struct {
	pod     *waitingPod
	attempt *attempt
	refused *refusedNodes
	settled int64
}

// kind is the workload of a pod and the demand that decisions assume for it.
type kind struct {
	workload profile.Workload
	asks     reserve.Demand
}

func newWaiting() *waiting {
	w := &waiting{due: make(chan struct{}, 1), pods: make(map[types.UID]*waitingPod), tentative: make(map[*node]*tentativeNode)}
	w.configure(waitingConfig{moment: func() reserve.Moment { return reserve.Moment{} }, lives: new(lives)})
	return w
}

// configure starts over without pods and nodes.
func (w *waiting) configure(c waitingConfig) {
	w.waitingConfig, w.planned = c, math.MaxInt64
	w.demands = newDemands()
	w.queue = placement.New(placement.Config{
		MaxWait: c.maxWait, Pause: firstPause, Retry: c.retry, Grant: grantTime, Backoff: firstBackoff,
		Delay: w.delay,
	}, rooms{w})
}

// lock begins an operation at the present time.
func (w *waiting) lock() {
	w.mu.Lock()
	w.at = w.moment()
}

// unlock ends an operation, and asks for a round if there is something to do earlier than planned.
func (w *waiting) unlock() {
	if at, ok := w.queue.Next(); ok && at < w.planned {
		w.planned = at
		select {
		case w.due <- struct{}{}:
		default:
		}
	}
	w.mu.Unlock()
}

// begin records that a pod is about to look for a node. The handle is only used later, by the waker:
// a scheduler that runs PreFilter has been built, so its PodActivator is set, which it is not while
// New runs. It returns the node whose slot is kept for the pod, if there is one, and whether the pod
// has waited for room for too long. Until the attempt ends the pod waits for every node, so that no
// rise in the meantime is lost.
func (w *waiting) begin(pod *v1.Pod, handle fwk.Handle, a *attempt, k kind) (granted *node, overdue bool) {
	w.lock()
	defer w.unlock()
	w.settle()
	w.open = nil // the framework makes one attempt at a time
	p := w.pods[pod.UID]
	isNew := p == nil
	if isNew {
		p = w.add(pod)
	}
	w.enlist(p, k)
	switch {
	case isNew || p.isReserved: // and was not bound
		p.isReserved, p.first = false, w.at.Now
		w.restoreWait(p, pod)
	case !p.attempt.refused.Load(): // other plugins refused it all nodes
		w.endWait(p)
	}
	p.pod, p.handle, p.attempt, p.began = pod, handle, a, w.at.Now
	a.changes = w.changes
	w.queue.Advance(w.at.Now) // the pod may have become overdue
	w.queue.Try(p.number, w.at.Now)
	// A pod that was deleted after it left the queue gets no further event.
	if !w.isPending(pod) {
		w.forget(p)
		return nil, false
	}
	if id, ok := w.queue.Granted(p.number); ok {
		granted = w.nodes[id]
	}
	return granted, w.queue.IsOverdue(p.number)
}

// add makes a pod known under a number.
func (w *waiting) add(pod *v1.Pod) *waitingPod {
	p := &waitingPod{pod: pod, number: w.numbers.take()}
	w.byNumber = grown(w.byNumber, p.number)
	w.byNumber[p.number], w.pods[pod.UID] = p, p
	return p
}

// enlist counts a pod towards its workload, whose pods all have the same demand from now on.
func (w *waiting) enlist(p *waitingPod, k kind) {
	if p.workloadDemand != nil && p.workload == k.workload {
		w.setDemand(p.workloadDemand, k.asks)
		return
	}
	since := p.since
	if p.workloadDemand != nil {
		w.leave(p)
	} else {
		w.arrivals++
		p.arrival = w.arrivals
	}
	p.workloadDemand = w.join(k)
	w.queue.AddPod(p.number, placement.Pod{Workload: p.workloadDemand.number, Priority: objects.Priority(p.pod), Order: w.order(p)})
	if !since.IsZero() {
		w.queue.StartWait(p.number, since.Sub(w.start))
	}
}

// leave takes a pod out of the Queue and of its workload.
func (w *waiting) leave(p *waitingPod) {
	w.queue.RemovePod(p.number)
	w.demands.leave(p.workloadDemand)
}

// forget removes a pod.
func (w *waiting) forget(p *waitingPod) {
	w.endWait(p)
	w.leave(p)
	delete(w.pods, p.pod.UID)
	w.byNumber[p.number] = nil
	w.numbers.release(p.number)
}

// startWait records since when a pod waits for room, if it did not before.
func (w *waiting) startWait(p *waitingPod, since time.Time) {
	if !p.since.IsZero() || p.isReserved {
		return
	}
	p.since = since
	w.wanting++
	w.queue.StartWait(p.number, since.Sub(w.start))
	if !p.isMarked && w.maxWait > 0 {
		w.unmarked = append(w.unmarked, waitBegin{p, since})
	}
}

// restoreWait makes a pod wait for room since the time at which it was marked in the API.
func (w *waiting) restoreWait(p *waitingPod, pod *v1.Pod) {
	since := roomSince(pod)
	p.isMarked = !since.IsZero()
	p.inAPI = p.isMarked
	if p.isMarked {
		w.startWait(p, since)
	}
}

// endWait records that a pod no longer waits for room.
func (w *waiting) endWait(p *waitingPod) {
	if p.since.IsZero() {
		return
	}
	p.since, p.isMarked = time.Time{}, false // if it waits again, its wait begins anew
	w.wanting--
	w.queue.EndWait(p.number, w.at.Now)
}

// await ends an attempt of a pod that waits for the nodes of a set; isRefused is set if the
// plugin alone refused it one of them. If nodes have changed since the attempt began, which may
// not have seen the change, the pod waits for every node.
func (w *waiting) await(uid types.UID, a *attempt, set placement.WaitSet, isRefused bool) {
	w.lock()
	defer w.unlock()
	p := w.attempting(uid, a)
	if p == nil {
		return
	}
	if isRefused {
		a.refuse()
		w.startWait(p, w.start.Add(p.began))
	}
	if a.changes == w.changes {
		w.queue.Refuse(p.number, set, w.at.Now)
	}
}

// follow makes the pod of an attempt wait for the nodes that Filter refuses it from now on.
func (w *waiting) follow(uid types.UID, a *attempt, refused *refusedNodes) {
	w.lock()
	defer w.unlock()
	p := w.attempting(uid, a)
	if p == nil || a.changes != w.changes {
		return
	}
	w.open = &openAttempt{pod: p, attempt: a, refused: refused}
	w.queue.Refuse(p.number, refused.waitSet(), w.at.Now)
}

// attempting returns a pod whose last attempt is a, or nil.
func (w *waiting) attempting(uid types.UID, a *attempt) *waitingPod {
	if p := w.pods[uid]; p != nil && p.attempt == a && !p.isReserved {
		return p
	}
	return nil
}

// settle passes to the Queue which nodes have refused the pod of the open attempt since.
func (w *waiting) settle() {
	o := w.open
	if o == nil {
		return
	}
	if w.attempting(o.pod.pod.UID, o.attempt) != o.pod {
		w.open = nil
		return
	}
	if added := o.refused.added.Load(); added != o.settled {
		o.settled = added
		w.queue.Refuse(o.pod.number, o.refused.waitSet(), o.pod.began) // the slow retry counts from the attempt
	}
}

// refused records that the plugin alone has refused a node to the pod of an attempt.
func (w *waiting) refused(uid types.UID, a *attempt) {
	w.lock()
	defer w.unlock()
	if p := w.attempting(uid, a); p != nil {
		w.startWait(p, w.start.Add(p.began))
	}
}

// release gives up the slot that was kept for a pod.
func (w *waiting) release(uid types.UID) {
	w.edit(uid, func(p *waitingPod) { w.queue.Release(p.number, w.at.Now) })
}

// edit calls f with a pod if it is known.
func (w *waiting) edit(uid types.UID, f func(*waitingPod)) {
	w.lock()
	defer w.unlock()
	if p := w.pods[uid]; p != nil {
		f(p)
	}
}

// drop forgets a pod that has been bound or is gone.
func (w *waiting) drop(uid types.UID) { w.edit(uid, w.forget) }

// reserved records that a pod got a slot of a node, -1 for one that is not known. It returns when
// the pod was first tried, if it was, and whether the API has it marked as waiting for room.
func (w *waiting) reserved(uid types.UID, node int) (first time.Duration, tried, marked bool) {
	w.edit(uid, func(p *waitingPod) {
		if p.isReserved {
			return
		}
		w.endWait(p)
		w.queue.Reserve(p.number, node)
		p.isReserved = true
		first, tried, marked = p.first, true, p.inAPI
	})
	return first, tried, marked
}

// failed records that a pod that had got a slot was not bound.
func (w *waiting) failed(pod *v1.Pod) {
	w.edit(pod.UID, func(p *waitingPod) {
		if !w.isPending(pod) {
			w.forget(p)
			return
		}
		w.queue.Fail(p.number, w.at.Now)
	})
}

// lost makes a pod look again at once whose node changed before the pod was in flight.
func (w *waiting) lost(uid types.UID) {
	w.edit(uid, func(p *waitingPod) {
		if p.isReserved {
			return
		}
		p.attempt.refuse()
		w.startWait(p, w.start.Add(p.began))
		w.closeAttempt(p)
		w.queue.Release(p.number, w.at.Now)
		w.queue.Refuse(p.number, placement.EveryNode(), w.at.Now)
		w.queue.Wake(p.number, w.at.Now)
	})
}

// optOut wakes a pod that has become exempt from the plugin.
func (w *waiting) optOut(uid types.UID) {
	w.edit(uid, func(p *waitingPod) {
		w.closeAttempt(p)
		w.queue.Wake(p.number, w.at.Now)
	})
}

// closeAttempt ends the open attempt if it is the pod's: what Filter refuses it does not count any
// more. That of another pod stays open, or that pod would wait for none of the nodes that refused it.
func (w *waiting) closeAttempt(p *waitingPod) {
	if w.open != nil && w.open.pod == p {
		w.open = nil
	}
}

// find returns the last attempt of a pod that waits, or nil.
func (w *waiting) find(uid types.UID) *attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil && !p.isReserved {
		return p.attempt
	}
	return nil
}

// since returns since when a pod waits for room, the zero time if it does not.
func (w *waiting) since(uid types.UID) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil {
		return p.since
	}
	return time.Time{}
}

// count returns how many pods wait, and how many of them for room.
func (w *waiting) count() (all, forRoom int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue.Waiting(), w.wanting
}

// admit makes a node known, or records that it has lost a taint: any pod may go there now.
func (w *waiting) admit(n *node) {
	w.lock()
	defer w.unlock()
	w.changes++
	w.nodes = grown(w.nodes, n.id)
	if w.nodes[n.id] == n {
		w.queue.ResetNode(n.id)
	} else {
		w.queue.RemoveNode(n.id, w.at.Now) // another that had the id
		w.nodes[n.id] = n
		w.queue.AddNode(n.id)
		w.queue.NotifyNode(n.id, w.at.Now)
	}
	if w.open != nil {
		w.open.refused.add(n.id)
	}
}

// remove forgets a node.
func (w *waiting) remove(n *node) {
	w.lock()
	defer w.unlock()
	if w.has(n) {
		w.queue.RemoveNode(n.id, w.at.Now)
		w.nodes[n.id] = nil
		delete(w.tentative, n)
	}
}

func (w *waiting) has(n *node) bool { return n.id < len(w.nodes) && w.nodes[n.id] == n }

// notify records that the room of a node may have changed. Its view must be in place.
func (w *waiting) notify(n *node) {
	w.lock()
	defer w.unlock()
	if w.has(n) {
		w.queue.NotifyNode(n.id, w.at.Now)
	}
}

// recheck grants the slots of a node again, because a pod has come to wait for it after they
// rose.
func (w *waiting) recheck(n *node) {
	w.lock()
	defer w.unlock()
	if w.has(n) {
		w.queue.Recheck(n.id)
	}
}

// round grants the slots of the nodes that have risen. It returns the pods to activate and after
// how long there is more to do; 0 means not before something rises.
func (w *waiting) round() (woken []objects.Activation, again time.Duration) {
	w.lock()
	defer w.mu.Unlock()
	w.settle()
	w.queue.Advance(w.at.Now)
	for gone := true; gone; { // what was granted to pods that are gone goes to others
		w.queue.Round(w.at.Now)
		var some []objects.Activation
		some, gone = w.woken()
		woken = append(woken, some...)
	}
	at, ok := w.queue.Next()
	if w.planned = at; !ok {
		w.planned = math.MaxInt64
		return woken, 0
	}
	return woken, max(at-w.at.Now, time.Millisecond)
}

// woken returns the pods that the Queue has woken. It forgets those that the API no longer knows as
// pending, and reports whether there were any.
func (w *waiting) woken() (list []objects.Activation, gone bool) {
	for _, number := range slices.Clone(w.queue.Woken()) {
		p := w.byNumber[number]
		if p == nil || p.isReserved {
			continue
		}
		if !w.isPending(p.pod) {
			w.forget(p)
			gone = true
			continue
		}
		list = append(list, objects.Activation{Pod: p.pod, Handle: p.handle})
	}
	return list, gone
}

// inspect returns the pods that the slow retry wakes, and those that have waited too long and for
// which there are places.
func (w *waiting) inspect() (retried, overdue []objects.Activation) {
	w.lock()
	defer w.unlock()
	w.queue.Advance(w.at.Now)
	w.queue.WakeIdle(wakesPerInspection, w.at.Now)
	retried, _ = w.woken()
	w.queue.RoundOverdue(wakesPerInspection, w.at.Now)
	overdue, _ = w.woken()
	return retried, overdue
}

// nextMark takes the next pod that has waited for room for long enough to be marked in the API, or nil
// if there is none.
func (w *waiting) nextMark() (p *waitingPod, pod *v1.Pod, handle fwk.Handle, since time.Time) {
	w.lock()
	defer w.unlock()
	for len(w.unmarked) > 0 {
		b := w.unmarked[0]
		isWaiting := b.pod.since.Equal(b.since) && !b.pod.isMarked
		if isWaiting && w.start.Add(w.at.Now).Before(b.since.Add(w.maxWait/markFraction)) {
			break
		}
		w.unmarked[0] = waitBegin{} // or the array keeps the pod
		if w.unmarked = w.unmarked[1:]; isWaiting {
			b.pod.isMarked = true
			return b.pod, b.pod.pod, b.pod.handle, b.since
		}
	}
	return nil, nil, nil, time.Time{}
}

// written records that a pod has been marked or, unless done, must be tried again. It reports
// whether the pod still waits.
func (w *waiting) written(p *waitingPod, done bool) (waits bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pods[p.pod.UID] != p || p.isReserved {
		return false
	}
	if p.inAPI = done; !done && !p.since.IsZero() {
		p.isMarked = false
		w.unmarked = append(w.unmarked, waitBegin{p, p.since})
	}
	return true
}
