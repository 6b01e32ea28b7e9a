package plugin

import (
	"container/heap"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// group is the waiting pods that are alike: they wait for the same nodes, are of one
// workload, and either all of them are overdue or none is. A round decides for a group by
// its first pods alone, so that its time grows with the groups and with the pods that it
// wakes, and not with the pods that wait. The mutex of waiting guards it.
type group struct {
	alike
	// ready are the pods that may be activated, by comparePods; paused are the others, by
	// when they may.
	ready, paused queue
	// idle are the pods that wait for room, by when the slow retry may activate them.
	idle queue
}

// alike is what the pods of a group have in common.
type alike struct {
	reach *reach
	kin   *kin
	late  bool
}

// kin is what the waiting pods of a workload have in common: the place of the class of what
// they ask for. It counts them.
type kin struct{ class, pods int }

func newGroup(a alike, retry time.Duration) *group {
	return &group{
		alike:  a,
		ready:  queue{before: func(a, b *waitingPod) bool { return comparePods(a, b) < 0 }, at: byTurn},
		paused: queue{before: func(a, b *waitingPod) bool { return a.free() < b.free() }, at: byTurn},
		idle:   queue{before: func(a, b *waitingPod) bool { return a.idle(retry) < b.idle(retry) }, at: byIdle},
	}
}

// advance makes those pods ready whose pause is over.
func (g *group) advance(now time.Duration) {
	for p := g.paused.first(); p != nil && p.free() <= now; p = g.paused.first() {
		g.paused.remove(p)
		p.isReady = true
		g.ready.add(p)
	}
}

func (g *group) add(p *waitingPod) {
	p.group, p.isReady = g, false
	g.paused.add(p)
	if !p.since.IsZero() {
		g.idle.add(p)
	}
}

func (g *group) remove(p *waitingPod) {
	if p.isReady {
		g.ready.remove(p)
	} else {
		g.paused.remove(p)
	}
	g.idle.remove(p)
}

func (g *group) size() int { return g.ready.Len() + g.paused.Len() }

// free is when the pod may be activated for a node that has risen.
func (p *waitingPod) free() time.Duration {
	if p.granted != nil {
		return max(p.pause, p.until)
	}
	return p.pause
}

// idle is when the slow retry may activate the pod.
func (p *waitingPod) idle(retry time.Duration) time.Duration { return max(p.last+retry, p.free()) }

// join puts a pod into the group of those that wait for r and are as it is; w.mu is held.
func (w *waiting) join(p *waitingPod, r *reach) {
	a := alike{r, w.byWorkload[p.workload], p.late}
	g := w.groups[a]
	if g == nil {
		g = newGroup(a, w.retry)
		w.groups[a] = g
		w.hold(r)
	}
	g.add(p)
	if p.late {
		w.lates++
	}
}

// part takes a pod out of its group, which ends with its last; w.mu is held.
func (w *waiting) part(p *waitingPod) {
	g := p.group
	if g.remove(p); g.size() == 0 {
		delete(w.groups, g.alike)
		w.letGo(g.reach)
	}
	if g.late {
		w.lates--
	}
}

// wait has a pod wait for r from now on; w.mu is held.
func (w *waiting) wait(p *waitingPod, r *reach) {
	w.part(p)
	w.join(p, r)
}

// change changes when a pod may be activated; w.mu is held.
func (w *waiting) change(p *waitingPod, by func()) {
	p.group.remove(p)
	by()
	p.group.add(p)
}

// enlist counts a pod among those of a workload, which from now on all ask for the same;
// w.mu is held. It comes before join, and dismiss after part.
func (w *waiting) enlist(p *waitingPod, of profile.Workload, asks reserve.Demand) {
	k := w.byWorkload[of]
	if k == nil {
		k = &kin{class: typicalClass}
		w.byWorkload[of] = k
	}
	p.workload = of
	k.pods++
	w.classify(k, asks)
}

func (w *waiting) dismiss(p *waitingPod) {
	k := w.byWorkload[p.workload]
	if k.pods--; k.pods == 0 {
		w.classes.leave(k.class)
		delete(w.byWorkload, p.workload)
	}
}

func (w *waiting) classify(k *kin, asks reserve.Demand) {
	place := w.classes.join(asks)
	w.classes.leave(k.class)
	k.class = place
}

// wantRoom notes since when a pod waits for room, the zero time for one that does not; w.mu
// is held.
func (w *waiting) wantRoom(p *waitingPod, since time.Time) {
	if p.since.Equal(since) {
		return
	}
	w.part(p)
	w.young.remove(p)
	if p.since.IsZero() {
		w.wanting++
	}
	if p.since, p.late = since, false; since.IsZero() {
		p.marked = false // if it waits again, since then
		w.wanting--
	} else {
		w.young.add(p)
	}
	w.join(p, p.group.reach)
}

// queue is a heap of waiting pods, each of which knows its place in it.
type queue struct {
	pods   []*waitingPod
	before func(a, b *waitingPod) bool
	at     func(*waitingPod) *int
}

// byTurn, byIdle and bySince are a pod's places in the three queues that it may be in at a
// time, counted from 1; 0 is none.
func byTurn(p *waitingPod) *int  { return &p.turn }
func byIdle(p *waitingPod) *int  { return &p.idlePlace }
func bySince(p *waitingPod) *int { return &p.sincePlace }

// first returns the pod before all others, nil if there is none.
func (q *queue) first() *waitingPod {
	if len(q.pods) == 0 {
		return nil
	}
	return q.pods[0]
}

func (q *queue) add(p *waitingPod) { heap.Push(q, p) }

// remove takes a pod out, if it is there.
func (q *queue) remove(p *waitingPod) {
	if at := *q.at(p); at > 0 {
		heap.Remove(q, at-1)
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (q *queue) Len() int           { return len(q.pods) }
func (q *queue) Less(i, j int) bool { return q.before(q.pods[i], q.pods[j]) }
func (q *queue) Swap(i, j int) {
	q.pods[i], q.pods[j] = q.pods[j], q.pods[i]
	*q.at(q.pods[i]), *q.at(q.pods[j]) = i+1, j+1
}

func (q *queue) Push(p any) {
	q.pods = append(q.pods, p.(*waitingPod))
	*q.at(p.(*waitingPod)) = len(q.pods)
}

func (q *queue) Pop() any {
	last := len(q.pods) - 1
	p := q.pods[last]
	q.pods[last] = nil
	q.pods = q.pods[:last]
	*q.at(p) = 0
	return p
}

// contest yields groups in the order of the pods that stand for them. It implements
// heap.Interface.
type contest struct {
	groups []*group
	stands func(*group) *waitingPod
	before func(a, b *waitingPod) bool
}

func (c *contest) Len() int      { return len(c.groups) }
func (c *contest) Swap(i, j int) { c.groups[i], c.groups[j] = c.groups[j], c.groups[i] }
func (c *contest) Less(i, j int) bool {
	return c.before(c.stands(c.groups[i]), c.stands(c.groups[j]))
}
func (c *contest) Push(g any) { c.groups = append(c.groups, g.(*group)) }
func (c *contest) Pop() any {
	last := len(c.groups) - 1
	g := c.groups[last]
	c.groups = c.groups[:last]
	return g
}

// run calls try with the first pod of all groups, again and again, until try returns stop or no
// group is left. A group is left out once try returns done for it or it has no pod to stand for it.
func (c *contest) run(try func(*group, *waitingPod) (done, stop bool)) {
	c.groups = slices.DeleteFunc(c.groups, func(g *group) bool { return c.stands(g) == nil })
	for heap.Init(c); len(c.groups) > 0; {
		g := c.groups[0]
		done, stop := try(g, c.stands(g))
		switch {
		case stop:
			return
		case done || c.stands(g) == nil:
			heap.Pop(c)
		default:
			heap.Fix(c, 0)
		}
	}
}
