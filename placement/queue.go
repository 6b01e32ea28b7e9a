package placement

import (
	"slices"
	"time"
)

// Config holds the times of a Queue. Negative times count as 0.
type Config struct {
	// MaxWait is how long a pod waits for room before it is overdue; 0 means that none ever is.
	MaxWait time.Duration
	// Pause is how long a woken pod has to come before it is woken again. That doubles from one
	// wake to the next, up to Retry, which is at least Pause. 0 means that every woken pod comes, and that an attempt takes
	// no time: see the package's documentation.
	Pause time.Duration
	// Retry is also how long a pod that waits for room is left alone at most where there are
	// slots for it: see [Queue.WakeIdle].
	Retry time.Duration
	// Grant is how long a slot is kept for the pod that was woken for it.
	Grant time.Duration
	// Backoff is how long a pod is not woken that had a slot and was not bound. It doubles from
	// one failure to the next, up to Retry.
	Backoff time.Duration
	// Delay, if set, returns how much later than in Pod.Order the pods of a workload count as
	// created: see [Lives.Delay]. The Queue calls it each time that it chooses pods, within its own
	// methods alone. Order is in nanoseconds then.
	Delay func(workload int) time.Duration
}

// Rooms is what the caller knows of its nodes. The Queue calls it with numbers of nodes and classes
// that it was given, within its own methods alone, so a Rooms need not be safe for concurrent use.
// Negative answers count as 0.
type Rooms interface {
	// Slots returns how many pods of a class a node takes now, beside one pod of each of the
	// classes in beside, which is not to be kept.
	Slots(node, class int, beside []int) int
	// Places returns how many overdue pods of a class a node takes now that it has no room.
	Places(node, class int) int
}

// Pod is what the order of pods follows from, and what they have in common.
type Pod struct {
	// Workload made the pod; the pods of one belong to one class. Pods of which nothing can be
	// learnt share one.
	Workload int
	// Priority comes before Order: the highest first, then the lowest, [Config].Delay included.
	Priority int32
	Order    int64
}

// Queue holds the pods that need a node and what they wait for. It is not safe for concurrent use.
type Queue struct {
	config Config
	rooms  Rooms

	pods      []*pod // by number, nil where there is none
	workloads []workload
	classes   []*class // by number, nil where there is none
	order     []*class // as they were added
	nodes     []node
	sets      setTable
	groups    map[groupKey]*group
	late      []*group // of overdue pods
	timers    minHeap[timer]

	epoch   int // counts the rises
	waiting int // pods in groups
	places  int // of all nodes, for overdue pods of class Typical
	due     []int
	held    []int // in state heldDue
	woken   []int
	// contenders is memory for contests.
	contenders []*group
}

// workload is what a workload's pods have in common.
type workload struct {
	class  int
	pods   int
	groups []*group
}

// New returns a Queue without pods and nodes, and with the class Typical.
func New(c Config, rooms Rooms) *Queue {
	for _, t := range []*time.Duration{&c.MaxWait, &c.Pause, &c.Retry, &c.Grant, &c.Backoff} {
		*t = max(*t, 0)
	}
	c.Retry = max(c.Retry, c.Pause)
	q := &Queue{config: c, rooms: rooms, groups: map[groupKey]*group{}, timers: minHeap[timer]{before: timer.isBefore}}
	q.sets = setTable{every: sharedSet{WaitSet: EveryNode()}, unknown: sharedSet{WaitSet: EveryNode()}, all: map[*sharedSet]struct{}{}, byHash: map[uint64]*sharedSet{}, most: maxSetBytes * 8 / wordBits}
	q.AddClass(Typical)
	return q
}

// isImmediate reports whether every woken pod comes.
func (q *Queue) isImmediate() bool { return q.config.Pause == 0 }

// AddPod has a pod counted that needs a node and has not been tried. A pod that is there already
// stays as it is.
func (q *Queue) AddPod(number int, of Pod) {
	if number < 0 || of.Workload < 0 || q.pod(number) != nil {
		return
	}
	q.pods = grown(q.pods, number)
	q.pods[number] = &pod{Pod: of, number: number, granted: noNode}
	w := q.workload(of.Workload)
	q.classes[w.class].addPods(1)
	w.pods++
}

// RemovePod forgets a pod that was bound or deleted. A slot that was kept for it is free.
func (q *Queue) RemovePod(number int) {
	p := q.pod(number)
	if p == nil {
		return
	}
	q.release(p)
	q.detach(p)
	q.dropWake(p)
	w := q.workload(p.Workload)
	w.pods--
	q.classes[w.class].pods--
	q.pods[number] = nil
}

// pod returns that of a number, nil if there is none.
func (q *Queue) pod(number int) *pod {
	if number < 0 || number >= len(q.pods) {
		return nil
	}
	return q.pods[number]
}

func (q *Queue) workload(number int) *workload {
	q.workloads = grown(q.workloads, number)
	return &q.workloads[number]
}

// grown returns a slice that has an element at i.
func grown[T any](s []T, i int) []T {
	if i < len(s) {
		return s
	}
	return slices.Grow(s, i+1-len(s))[:i+1]
}

// Try notes that an attempt of a pod begins. Where wakes may be lost, it waits for every node until
// the attempt is over, so that no rise in the meantime is missed; else it waits for none.
func (q *Queue) Try(number int, now time.Duration) {
	p := q.pod(number)
	if p == nil {
		return
	}
	q.detach(p)
	q.dropWake(p)
	p.last, p.pause, p.wakes, p.always = now, p.failedUntil, 0, false
	if q.isImmediate() {
		return
	}
	if p.granted != noNode { // the pod tries for its slot now
		p.until = now + q.config.Grant
		p.pause = max(p.pause, p.until)
	}
	p.seen, p.tried = seenNothing, q.epoch
	q.attach(p, &q.sets.unknown, now)
}

// Refuse ends an attempt of a pod that found no node. The pod waits for the nodes of a set from now
// on. Where every woken pod comes, another pod is woken if there are slots for one, since this one
// has left them.
func (q *Queue) Refuse(number int, set WaitSet, now time.Duration) {
	p := q.pod(number)
	if p == nil {
		return
	}
	q.detach(p)
	shared, ok := q.sets.share(set)
	p.last, p.seen, p.always = now, seenNothing, false
	if shared == &q.sets.every {
		if p.seen = q.epoch; !q.isImmediate() {
			p.seen = p.tried // what rose during the attempt it may have missed
		}
	}
	if !ok {
		p.pause = max(p.pause, now+q.config.Backoff)
	}
	q.attach(p, shared, now)
	if !q.isImmediate() {
		return
	}
	for _, c := range q.order {
		if c.hasRoom() && q.wake(c, 1, now) > 0 {
			return
		}
	}
}

// Reserve notes that a pod got a node and is about to be bound. It waits no longer; a slot of
// another node that was kept for it is free. RemovePod or Fail follows.
func (q *Queue) Reserve(number, node int) {
	p := q.pod(number)
	if p == nil {
		return
	}
	if p.granted == node && node != noNode {
		q.forgetGrant(p)
	}
	q.release(p)
	q.detach(p)
	q.dropWake(p)
	p.waits, p.overdue, p.always = false, false, false
}

// Fail notes that a pod that had got a node was not bound: it is not woken for Config.Backoff, then
// twice that and so on.
func (q *Queue) Fail(number int, now time.Duration) {
	if p := q.pod(number); p != nil {
		p.failedUntil = now + doubled(q.config.Backoff, p.failures, q.config.Retry)
		p.failures++
	}
}

// Release gives up the slot that was kept for a pod, which will not take it.
func (q *Queue) Release(number int, now time.Duration) {
	p := q.pod(number)
	if p == nil || p.granted == noNode {
		return
	}
	q.release(p)
	p.pause = p.failedUntil
	q.settle(p, now)
	if p.always && p.group != nil && p.pause <= now {
		q.wakePod(p, now)
	}
}

// Granted returns the node whose slot is kept for a pod, if there is one.
func (q *Queue) Granted(number int) (node int, ok bool) {
	p := q.pod(number)
	if p == nil || p.granted == noNode {
		return 0, false
	}
	return p.granted, true
}

// Wake has a waiting pod tried whatever rises, again and again until it comes.
func (q *Queue) Wake(number int, now time.Duration) {
	p := q.pod(number)
	if p == nil || p.group == nil {
		return
	}
	p.always = true
	if p.free() <= now {
		q.wakePod(p, now)
	}
}

// WakeIdle wakes at most so many of the pods that wait for room and were neither tried nor woken for
// Config.Retry, those first that were not for longest, and no more of a class than it has slots. It
// covers what was lost.
func (q *Queue) WakeIdle(most int, now time.Duration) {
	left := make([]int, len(q.classes))
	var groups []*group
	for _, c := range q.order {
		left[c.number] = c.total
		groups = append(groups, c.groups...)
	}
	in := contest{before: isIdleBefore, delay: q.config.Delay, head: func(g *group) *pod { return g.firstIdle(q.config.Retry, now) }}
	in.run(groups, func(g *group, p *pod) (done, stop bool) {
		room := &left[q.classOf(p).number]
		if most <= 0 || *room <= 0 {
			return true, most <= 0
		}
		*room--
		most--
		q.wakePod(p, now)
		return *room <= 0, most <= 0
	})
}

// Woken returns the pods to try again that have not been returned before, in the order in which
// they were woken. The slice is valid until the next call of a method.
func (q *Queue) Woken() []int {
	woken := q.woken
	q.woken = q.woken[:0]
	return woken
}

// dropWake takes back a wake of a pod that has come meanwhile.
func (q *Queue) dropWake(p *pod) {
	q.woken = slices.DeleteFunc(q.woken, func(number int) bool { return number == p.number })
}

// Waiting is the number of pods that wait.
func (q *Queue) Waiting() int { return q.waiting }

// wakePod wakes a pod that waits.
func (q *Queue) wakePod(p *pod, now time.Duration) {
	q.woken = append(q.woken, p.number)
	if q.isImmediate() {
		q.detach(p)
		return
	}
	p.last, p.pause = now, now+doubled(q.config.Pause, p.wakes, q.config.Retry)
	p.wakes++
	q.settle(p, now)
}

// wake wakes up to n pods of a class that are ready and returns how many.
func (q *Queue) wake(c *class, n int, now time.Duration) (woken int) {
	if n <= 0 {
		return 0
	}
	in := contest{before: (*pod).isBefore, delay: q.config.Delay, head: (*group).firstReady, memory: &q.contenders}
	in.run(c.groups, func(_ *group, p *pod) (done, stop bool) {
		q.wakePod(p, now)
		woken++
		return false, woken == n
	})
	return woken
}

// doubled returns first · 2ⁿ, at most most.
func doubled(first time.Duration, n int, most time.Duration) time.Duration {
	for ; n > 0 && first < most; n-- {
		first *= 2
	}
	return min(first, most)
}
