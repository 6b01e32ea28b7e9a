package placement

import (
	"container/heap"
	"slices"
	"time"
)

const (
	noNode      = -1
	seenNothing = -1
)

// pod is one that needs a node.
type pod struct {
	Pod
	number int
	// group is nil unless the pod waits; list is which of the group's lists holds it, place where,
	// and idlePlace where it is in idle, both counted from 1, with 0 for none.
	group            *group
	list             listName
	place, idlePlace int
	// seen is the epoch of which the pod has seen the rises, tried that in which its last attempt
	// began.
	seen, tried int
	// since is when its wait for room began, if it waits for room.
	since          time.Duration
	waits, overdue bool
	// last is when it was tried or woken last; it is not woken before pause. wakes counts the wakes
	// since it was tried, and always is set if they need no slot.
	last, pause time.Duration
	wakes       int
	always      bool
	// granted is the node whose slot is kept for the pod until then.
	granted int
	until   time.Duration
	// failures counts how often it had a node and was not bound.
	failures    int
	failedUntil time.Duration
}

// isBefore orders pods that wait: by priority, then by order with the delay of their groups. All
// pods of a group have one delay, so a change of it leaves their order as it is.
func (p *pod) isBefore(o *pod) bool {
	if p.Priority != o.Priority {
		return p.Priority > o.Priority
	}
	if a, b := p.Order+int64(p.group.delay), o.Order+int64(o.group.delay); a != b {
		return a < b
	}
	return p.number < o.number
}

// free is when the pod may be woken for a slot.
func (p *pod) free() time.Duration {
	if p.granted != noNode {
		return max(p.pause, p.until)
	}
	return p.pause
}

// idle is when the pod will have been left alone for the given time.
func (p *pod) idle(retry time.Duration) time.Duration { return max(p.last+retry, p.free()) }

// listName names the lists of a group.
type listName uint8

const (
	ready  listName = iota // may be woken
	tried                  // refused since the room of the class rose last
	paused                 // may not be woken yet
	lists
)

// groupKey is what the pods of a group have in common.
type groupKey struct {
	set      *sharedSet
	workload int
	overdue  bool
}

// group is the waiting pods of a workload that wait for the same nodes. What is decided for its
// first pod holds for the others, so that no pass over all pods is needed.
type group struct {
	groupKey
	class *class
	// delay is that of the workload as of the group's last contest: see [Config].
	delay time.Duration
	lists [lists]minHeap[*pod]
	// idle are the pods that wait for room, by when they have been left alone for Config.Retry. It
	// is empty where every woken pod comes.
	idle minHeap[*pod]
}

func newGroup(k groupKey, retry time.Duration) *group {
	g := &group{groupKey: k}
	for i := range g.lists {
		g.lists[i] = minHeap[*pod]{before: (*pod).isBefore, place: func(p *pod) *int { return &p.place }}
	}
	g.idle = minHeap[*pod]{before: func(a, b *pod) bool {
		if x, y := a.idle(retry), b.idle(retry); x != y {
			return x < y
		}
		return a.isBefore(b)
	}, place: func(p *pod) *int { return &p.idlePlace }}
	return g
}

// firstReady returns the first pod that may be woken for a slot, firstOverdue that which may be
// woken for a place: it does not matter there which slots the pod has seen.
func (g *group) firstReady() *pod { return g.lists[ready].first() }

func (g *group) firstOverdue() *pod {
	a, b := g.lists[ready].first(), g.lists[tried].first()
	if a == nil || b != nil && b.isBefore(a) {
		return b
	}
	return a
}

// firstIdle returns the pod that has been left alone for longest, nil if none has been for the given
// time.
func (g *group) firstIdle(retry, now time.Duration) *pod {
	if p := g.idle.first(); p != nil && p.idle(retry) <= now {
		return p
	}
	return nil
}

// isIdleBefore orders the first idle pods of groups.
func isIdleBefore(a, b *pod) bool { return a.group.idle.before(a, b) }

func (g *group) size() (n int) {
	for i := range g.lists {
		n += g.lists[i].Len()
	}
	return n
}

// put places a pod in one of the lists, take takes it out.
func (g *group) put(p *pod, in listName) {
	p.list = in
	heap.Push(&g.lists[in], p)
}

func (g *group) take(p *pod) { heap.Remove(&g.lists[p.list], p.place-1) }

// attach has a pod wait for a set.
func (q *Queue) attach(p *pod, set *sharedSet, now time.Duration) {
	k := groupKey{set, p.Workload, p.overdue}
	g := q.groups[k]
	if g == nil {
		g = newGroup(k, q.config.Retry)
		q.groups[k] = g
		q.sets.hold(set)
		w := q.workload(k.workload)
		w.groups = append(w.groups, g)
		q.classes[w.class].join(g)
		if k.overdue {
			q.late = append(q.late, g)
		}
	}
	p.group = g
	q.waiting++
	g.put(p, q.listOf(p, now))
	q.addIdle(p)
}

// addIdle puts a pod that waits for room where [Queue.WakeIdle] finds it.
func (q *Queue) addIdle(p *pod) {
	if p.waits && !q.isImmediate() {
		heap.Push(&p.group.idle, p)
	}
}

// detach has a pod wait for nothing; the group ends with its last pod.
func (q *Queue) detach(p *pod) {
	g := p.group
	if g == nil {
		return
	}
	g.take(p)
	if p.idlePlace > 0 {
		heap.Remove(&g.idle, p.idlePlace-1)
	}
	p.group = nil
	q.waiting--
	if g.size() > 0 {
		return
	}
	delete(q.groups, g.groupKey)
	q.sets.release(g.set)
	w := q.workload(g.workload)
	w.groups = without(w.groups, g)
	g.class.groups = without(g.class.groups, g)
	q.late = without(q.late, g)
}

func without(groups []*group, g *group) []*group {
	return slices.DeleteFunc(groups, func(other *group) bool { return other == g })
}

// listOf returns the list that a pod of a group belongs to, and has the pod looked at again when
// its pause and its grant are over.
func (q *Queue) listOf(p *pod, now time.Duration) listName {
	if p.free() <= now {
		return p.group.class.listOf(p)
	}
	if p.pause > now {
		q.setTimer(p.pause, p, pauseEnds)
	}
	if p.granted != noNode && p.until > now {
		q.setTimer(p.until, p, pauseEnds)
	}
	return paused
}

// settle puts a pod, if it waits, into the list where it belongs now.
func (q *Queue) settle(p *pod, now time.Duration) {
	if p.group == nil {
		return
	}
	p.group.take(p)
	p.group.put(p, q.listOf(p, now))
	if p.list != paused {
		q.releaseHeld()
	}
	if p.idlePlace > 0 {
		heap.Fix(&p.group.idle, p.idlePlace-1)
	}
}

// contest yields groups in the order of their heads.
type contest struct {
	head   func(*group) *pod
	before func(a, b *pod) bool
	delay  func(workload int) time.Duration // nil for none
	memory *[]*group                        // kept from one contest to the next, if not nil
}

// run calls try with the first head of all groups, again and again, until try returns stop or no
// group is left. A group is left out once try returns done for it or it has no head.
func (c *contest) run(groups []*group, try func(g *group, p *pod) (done, stop bool)) {
	in := minHeap[*group]{before: func(a, b *group) bool { return c.before(c.head(a), c.head(b)) }}
	if c.memory != nil {
		in.items = (*c.memory)[:0]
	}
	for _, g := range groups {
		if c.head(g) == nil {
			continue
		}
		if c.delay != nil {
			g.delay = c.delay(g.workload)
		}
		in.items = append(in.items, g)
	}
	if c.memory != nil {
		*c.memory = in.items
	}
	for heap.Init(&in); in.Len() > 0; {
		g := in.first()
		done, stop := try(g, c.head(g))
		switch {
		case stop:
			return
		case done || c.head(g) == nil:
			heap.Pop(&in)
		default:
			heap.Fix(&in, 0)
		}
	}
}
