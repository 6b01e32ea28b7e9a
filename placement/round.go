package placement

import (
	"math/bits"
	"slices"
	"time"
)

// Round grants the slots of the nodes that are due to the pods that wait for them, by priority and
// order, and wakes these pods. It is for a Queue whose wakes may be lost; else nodes are never due.
// A node stays due while a pod that waits for it may not be woken yet, and is due again when a
// granted slot was not taken in time.
func (q *Queue) Round(now time.Duration) {
	due := q.takeDue()
	if len(due) == 0 {
		return
	}
	o := q.newSlotGrants(due, func(node int, c *class) int { return q.rooms.Slots(node, c.number, nil) })
	o.recount = func(node int, c *class, beside []int) int { return q.rooms.Slots(node, c.number, beside) }
	for i, node := range o.nodes {
		for _, p := range q.nodes[node].grants {
			o.grantSlot(i, q.classOf(p))
		}
	}
	groups := q.groupsOf(o)
	in := contest{before: (*pod).isBefore, delay: q.config.Delay, head: (*group).firstReady}
	in.run(groups, func(g *group, p *pod) (done, stop bool) {
		i, found := o.find(g)
		if !found {
			return true, !o.isOpen()
		}
		if p.wakes > 0 { // it had a slot kept and did not come
			q.wakePod(p, now)
			return false, false
		}
		q.grant(p, o.nodes[i], now)
		o.grantSlot(i, g.class)
		return false, !o.isOpen()
	})
	for _, g := range groups {
		if g.lists[paused].Len() > 0 {
			o.each(g, q.hold)
		}
	}
}

// RoundOverdue wakes at most so many overdue pods, and no more than there are places for them on
// the nodes that they wait for. A pod of which is not known what it waits for, since its attempt did
// not end in Refuse or there was no memory for the set, has to have been left alone for Config.Retry:
// it may be woken in vain. The call looks at all nodes if a pod is overdue. Like
// Round it is for a Queue whose wakes may be lost.
func (q *Queue) RoundOverdue(most int, now time.Duration) {
	if q.isImmediate() || len(q.late) == 0 || most <= 0 {
		return
	}
	all := make([]int, 0, len(q.nodes))
	for i := range q.nodes {
		if q.nodes[i].isPresent {
			all = append(all, i)
		}
	}
	o := q.newSlotGrants(all, func(node int, c *class) int { return q.rooms.Places(node, c.number) })
	in := contest{before: (*pod).isBefore, delay: q.config.Delay, head: func(g *group) *pod {
		if g.set == &q.sets.unknown {
			return g.firstIdle(q.config.Retry, now)
		}
		return g.firstOverdue()
	}}
	in.run(q.late, func(g *group, p *pod) (done, stop bool) {
		i, found := o.find(g)
		if !found {
			return true, !o.isOpen()
		}
		q.wakePod(p, now)
		o.grantSlot(i, g.class)
		most--
		return false, most == 0 || !o.isOpen()
	})
}

// markDue has the next Round grant the slots of a node.
func (q *Queue) markDue(node int) {
	if n := &q.nodes[node]; n.due != isDue {
		n.due = isDue
		q.due = append(q.due, node)
	}
}

// hold has the next Round look at a node, unless it would anyway. See heldDue.
func (q *Queue) hold(node int) {
	if n := &q.nodes[node]; n.due == notDue {
		n.due = heldDue
		q.held = append(q.held, node)
	}
}

// releaseHeld makes the nodes due that are held: a pod may be woken now.
func (q *Queue) releaseHeld() {
	for _, node := range q.held {
		if n := &q.nodes[node]; n.isPresent {
			q.markDue(node)
		} else if n.due == heldDue {
			n.due = notDue
		}
	}
	q.held = q.held[:0]
}

// takeDue returns the nodes that are due or held, lowest first, and leaves none.
func (q *Queue) takeDue() []int {
	var due []int
	for _, node := range slices.Concat(q.due, q.held) {
		n := &q.nodes[node]
		if n.due != notDue && n.isPresent {
			due = append(due, node)
		}
		n.due = notDue
	}
	q.due, q.held = q.due[:0], q.held[:0]
	slices.Sort(due)
	return due
}

// grant wakes a pod for a slot of a node, which is kept for it.
func (q *Queue) grant(p *pod, node int, now time.Duration) {
	if q.config.Grant > 0 {
		p.granted, p.until = node, now+q.config.Grant
		q.nodes[node].grants = append(q.nodes[node].grants, p)
	}
	q.wakePod(p, now)
}

// release gives a slot that is kept for a pod to others.
func (q *Queue) release(p *pod) {
	if p.granted != noNode {
		q.markDue(p.granted)
		q.forgetGrant(p)
	}
}

func (q *Queue) forgetGrant(p *pod) {
	n := &q.nodes[p.granted]
	n.grants = slices.DeleteFunc(n.grants, func(other *pod) bool { return other == p })
	p.granted = noNode
}

// groupsOf returns the groups of the classes that have slots left.
func (q *Queue) groupsOf(o *slotGrants) (groups []*group) {
	for _, c := range q.order {
		if l := o.byClass[c.number]; l != nil && l.open > 0 {
			groups = append(groups, c.groups...)
		}
	}
	return groups
}

// slotGrants is what nodes have to give in a round.
type slotGrants struct {
	nodes []int
	place map[int]int // of the nodes
	// beside are the classes of the pods that slots of each node were given to.
	beside  [][]int
	byClass []*classSlots // by class, nil for one without pods
	// recount counts slots beside those that were given. Where it is nil, pods of all classes
	// share the same.
	recount func(node int, c *class, beside []int) int
}

// classSlots is what there is for a class.
type classSlots struct {
	class *class
	left  []int // by place
	nodes WaitSet
	words []int // of nodes, those with any
	open  int   // how many nodes
}

// newSlotGrants counts what nodes have, lowest first, for the classes that have pods.
func (q *Queue) newSlotGrants(nodes []int, count func(node int, c *class) int) *slotGrants {
	o := &slotGrants{nodes: nodes, place: make(map[int]int, len(nodes)), beside: make([][]int, len(nodes)), byClass: make([]*classSlots, len(q.classes))}
	for i, node := range nodes {
		o.place[node] = i
	}
	for _, c := range q.order {
		if len(c.groups) == 0 {
			continue
		}
		l := &classSlots{class: c, left: make([]int, len(nodes))}
		o.byClass[c.number] = l
		for i, node := range nodes {
			if l.left[i] = max(count(node, c), 0); l.left[i] == 0 {
				continue
			}
			l.open++
			l.nodes.Add(node)
			if word := node / wordBits; len(l.words) == 0 || l.words[len(l.words)-1] != word {
				l.words = append(l.words, word)
			}
		}
	}
	return o
}

func (o *slotGrants) isOpen() bool {
	return slices.ContainsFunc(o.byClass, func(l *classSlots) bool { return l != nil && l.open > 0 })
}

// find returns the place of the lowest node that a group waits for and that has a slot for it.
func (o *slotGrants) find(g *group) (place int, found bool) {
	l := o.byClass[g.class.number]
	if l == nil || l.open == 0 {
		return 0, false
	}
	node, found := l.nodes.first(&g.set.WaitSet, l.words)
	return o.place[node], found
}

// each calls f with all nodes that a group waits for and that have a slot for it.
func (o *slotGrants) each(g *group, f func(node int)) {
	l := o.byClass[g.class.number]
	for _, i := range l.words {
		for both := l.nodes.word(i) & g.set.word(i); both != 0; both &= both - 1 {
			f(i*wordBits + bits.TrailingZeros64(both))
		}
	}
}

// grantSlot takes a slot of the i-th node away for a pod of a class.
func (o *slotGrants) grantSlot(i int, to *class) {
	o.beside[i] = append(o.beside[i], to.number)
	for _, l := range o.byClass {
		if l == nil || l.left[i] == 0 {
			continue
		}
		left := l.left[i] - 1
		if l.class != to && o.recount != nil {
			left = min(max(o.recount(o.nodes[i], l.class, o.beside[i]), 0), l.left[i])
		}
		if l.left[i] = left; left == 0 {
			l.open--
			l.nodes.Remove(o.nodes[i])
		}
	}
}
