package placement

import (
	"slices"
	"time"
)

// Typical is the class of workloads of which nothing is known.
const Typical = 0

// class is a kind of pods that ask the same of a node.
type class struct {
	number int
	pods   int // that need a node
	slots  []int
	total  int
	// rose is the epoch in which a slot was gained last.
	rose   int
	groups []*group
}

// addPods counts pods of the class. What was counted of nodes while it had none is out of date: it is
// forgotten, so that the next count of each node is news.
func (c *class) addPods(n int) {
	if n > 0 && !c.isCounted() {
		clear(c.slots)
		c.total = 0
	}
	c.pods += n
}

// isCounted reports whether nodes count their slots for the class. They do for Typical at any time,
// since any workload may turn out to be unknown.
func (c *class) isCounted() bool { return c.number == Typical || c.pods > 0 }

func (c *class) hasRoom() bool { return c.total > 0 && c.isCounted() }

// join makes a group one of the class and sorts its pods by what they have seen.
func (c *class) join(g *group) {
	g.class = c
	c.groups = append(c.groups, g)
	c.sort(g, ready)
	c.sort(g, tried)
}

// sort puts the pods of a list where they belong by what they have seen.
func (c *class) sort(g *group, list listName) {
	var moved []*pod
	for _, p := range g.lists[list].items {
		if c.listOf(p) != list {
			moved = append(moved, p)
		}
	}
	for _, p := range moved {
		g.take(p)
		g.put(p, c.listOf(p))
	}
}

// listOf returns the list of a pod of the class that may be woken.
func (c *class) listOf(p *pod) listName {
	if p.seen >= c.rose {
		return tried
	}
	return ready
}

// node is a node that pods may go to.
type node struct {
	isPresent bool
	due       dueState
	places    int    // for overdue pods of class Typical
	grants    []*pod // that its slots are kept for, in the order of their grants
}

// dueState is whether the next Round grants the slots of a node.
type dueState uint8

const (
	notDue dueState = iota
	// heldDue is the state of a node whose slots are awaited only by pods that may not be woken
	// yet. A Round looks at it, but it is no reason for a Round.
	heldDue
	isDue
)

// AddClass makes a class known. Where a pod leaves room to others, classes have it in the order in
// which they were added.
func (q *Queue) AddClass(number int) {
	if number < 0 || q.class(number) != nil {
		return
	}
	q.classes = grown(q.classes, number)
	c := &class{number: number, slots: make([]int, len(q.nodes))}
	q.classes[number] = c
	q.order = append(q.order, c)
}

func (q *Queue) class(number int) *class {
	if number < 0 || number >= len(q.classes) {
		return nil
	}
	return q.classes[number]
}

func (q *Queue) classOf(p *pod) *class { return q.classes[q.workloads[p.Workload].class] }

// Class returns the class of a workload.
func (q *Queue) Class(workload int) int {
	if workload < 0 || workload >= len(q.workloads) {
		return Typical
	}
	return q.workloads[workload].class
}

// SetClass has all pods of a workload belong to a class, which was added. Its slots are those that
// were counted last: see [Queue.Recount].
func (q *Queue) SetClass(workload, number int) {
	to := q.class(number)
	if workload < 0 || to == nil {
		return
	}
	w := q.workload(workload)
	from := q.classes[w.class]
	if from == to {
		return
	}
	w.class = number
	from.pods -= w.pods
	to.addPods(w.pods)
	for _, g := range w.groups {
		from.groups = without(from.groups, g)
		to.join(g)
	}
}

// Recount counts the slots of all nodes for a class whose demand has changed. All of them are news
// to its pods.
func (q *Queue) Recount(number int, now time.Duration) {
	c := q.class(number)
	if c == nil {
		return
	}
	for n := range q.nodes {
		c.total -= c.slots[n]
		c.slots[n] = 0
		q.count(c, n, now)
	}
}

// AddNode makes a node known, to which any pod may be able to go. It has no slots until it is
// notified.
func (q *Queue) AddNode(number int) {
	if number < 0 {
		return
	}
	q.nodes = grown(q.nodes, number)
	for _, c := range q.order {
		c.slots = grown(c.slots, number)
	}
	q.nodes[number].isPresent = true
	q.sets.add(number)
}

// ResetNode notes that labels, taints or the like of a node have changed: any waiting pod may be
// able to go there now.
func (q *Queue) ResetNode(number int) {
	if !q.isPresent(number) {
		return
	}
	q.sets.add(number)
	if !q.isImmediate() {
		q.markDue(number)
	}
}

// Recheck has the next Round grant the slots of a node again although its room has not changed: a
// pod may wait for it that did not when the room rose.
func (q *Queue) Recheck(number int) {
	if q.isPresent(number) && !q.isImmediate() {
		q.markDue(number)
	}
}

// RemoveNode forgets a node, whose slots are gone. Its number may be given to another.
func (q *Queue) RemoveNode(number int, now time.Duration) {
	if !q.isPresent(number) {
		return
	}
	n := &q.nodes[number]
	n.isPresent = false
	for _, p := range slices.Clone(n.grants) {
		q.forgetGrant(p)
		q.settle(p, now)
	}
	for _, c := range q.order {
		c.total -= c.slots[number]
		c.slots[number] = 0
	}
	q.places -= n.places
	n.places = 0
}

func (q *Queue) isPresent(number int) bool {
	return number >= 0 && number < len(q.nodes) && q.nodes[number].isPresent
}

// NotifyNode notes that the room of a node has changed.
func (q *Queue) NotifyNode(number int, now time.Duration) {
	if !q.isPresent(number) {
		return
	}
	for _, c := range q.order {
		if c.isCounted() {
			q.count(c, number, now)
		}
	}
	if q.config.MaxWait == 0 {
		return
	}
	n := &q.nodes[number]
	places := max(q.rooms.Places(number, Typical), 0)
	rise := places - n.places
	n.places = places
	q.places += rise
	if rise > 0 && q.isImmediate() {
		q.wakeOverdue(now)
	}
}

// NotifyEnd notes that a pod has ended, after its node was notified. What it gave back may be what a
// pod was refused for by others than the Queue's caller, so in each class with room one pod is
// tried, and the room is news to all.
func (q *Queue) NotifyEnd(now time.Duration) {
	for _, c := range q.order {
		if c.hasRoom() && q.waiting > 0 {
			q.rise(c, 1, now)
		}
	}
}

// count brings the slots of a node for a class up to date.
func (q *Queue) count(c *class, number int, now time.Duration) {
	slots := 0
	if q.nodes[number].isPresent {
		slots = max(q.rooms.Slots(number, c.number, nil), 0)
	}
	rise := slots - c.slots[number]
	c.total += rise
	c.slots[number] = slots
	if rise <= 0 {
		return
	}
	if !q.isImmediate() {
		q.markDue(number)
	}
	q.rise(c, rise, now)
}

// rise makes it news to the pods of a class that there is room, and wakes so many of them where
// every woken pod comes.
func (q *Queue) rise(c *class, slots int, now time.Duration) {
	q.epoch++
	c.rose = q.epoch
	for _, g := range c.groups {
		c.sort(g, tried)
	}
	if q.isImmediate() {
		q.wake(c, slots, now)
	}
}
