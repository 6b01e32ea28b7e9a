package plugin

import (
	"context"
	"maps"
	"math/bits"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/reserve"
)

// round activates the pods that the slots of the due nodes are granted to, and
// says after how long there is more to do, 0 for not before the next rise.
func (w *waiting) round(ctx context.Context, at reserve.Moment) (activated int, again time.Duration) {
	now := at.Now
	w.mu.Lock()
	due := make([]*node, 0, len(w.due))
	for n := range w.due {
		due = append(due, n)
	}
	// One that rises from here on becomes due anew.
	clear(w.due)
	w.mu.Unlock()
	// A node's mutex is never taken with w.mu held.
	o := newOffer(due, w.classes.list(), func(n *node, v *view, c *class) int {
		switch {
		case c == nil:
			return n.slots
		case !n.inAPI:
			return 0
		}
		return w.rules.classSlotsOf(v, v.Flight, c, at)
	})
	o.recount = func(v *view, f reserve.Flight, c *class) int { return w.rules.classSlotsOf(v, f, c, at) }

	w.mu.Lock()
	chosen := w.choose(o, now)
	for i, n := range o.nodes {
		if o.pending[i] {
			w.due[n] = struct{}{}
		}
	}
	w.mu.Unlock()
	activate(ctx, chosen)
	if o.next > 0 {
		again = max(o.next-now, time.Millisecond)
	}
	return len(chosen), again
}

// choose returns the pods to activate, and forgets those that the API no longer
// knows as waiting; w.mu is held.
func (w *waiting) choose(o *offer, now time.Duration) []activation {
	c := chooser{w: w, now: now}
	w.granted = slices.DeleteFunc(w.granted, func(p *waitingPod) bool {
		if p.granted != nil && p.until <= now {
			w.change(p, func() { p.granted = nil })
		}
		return p.granted == nil
	})
	for _, p := range w.granted {
		if i, due := o.place[p.granted.id]; due {
			o.give(i, w.classOf(p), p.until)
		}
		o.wait(c.again(p))
	}
	for p := range w.anywhere {
		o.wait(c.again(p))
	}
	if !o.open() {
		return c.chosen
	}
	in := contest{before: func(a, b *waitingPod) bool { return comparePods(a, b) < 0 }, stands: func(g *group) *waitingPod { return g.ready.first() }}
	for _, g := range w.groups {
		// What rises for a class that is younger than the round is due again.
		if o.lot(w.classes.at(g.kin.class)) != nil {
			g.advance(now)
			in.groups = append(in.groups, g)
		}
	}
	groups := slices.Clone(in.groups)
	in.run(func(g *group, p *waitingPod) (done, stop bool) { return c.offer(g, p, o), !o.open() })
	for _, g := range groups {
		if p := g.paused.first(); p != nil {
			o.postpone(o.lot(w.classes.at(g.kin.class)), g.reach, p.free())
		}
	}
	return c.chosen
}

// classOf returns the class of what a pod asks for; w.mu is held.
func (w *waiting) classOf(p *waitingPod) *class { return w.classes.at(p.group.kin.class) }

// chooser collects the pods of a round.
type chooser struct {
	w      *waiting
	now    time.Duration
	chosen []activation
}

// activation is what a pod is activated by.
type activation struct {
	pod    *v1.Pod
	handle fwk.Handle
}

// offer grants p, the first of a group, the slot of a node that it waits for, and reports
// whether there is none. A pod that was activated before and has not come is activated
// again, but no slot is kept for it any more.
func (c *chooser) offer(g *group, p *waitingPod, o *offer) (none bool) {
	i, found := o.find(o.lot(c.w.classOf(p)), g.reach)
	if !found {
		return true
	}
	first := p.activations == 0
	if !c.activate(p) || !first {
		return false
	}
	c.w.change(p, func() { p.granted, p.until = o.nodes[i], c.now+grantTime })
	c.w.granted = append(c.w.granted, p)
	o.give(i, c.w.classOf(p), p.until)
	o.wait(p.pause)
	return false
}

// again activates a pod whose pause is over, and returns when to do so next.
func (c *chooser) again(p *waitingPod) time.Duration {
	if p.pause <= c.now {
		c.activate(p)
	}
	return p.pause
}

// activate reports whether the pod still waits, and forgets one that does not.
func (c *chooser) activate(p *waitingPod) bool {
	if !c.w.waits(p.pod) {
		c.w.forget(p.pod.UID)
		return false
	}
	c.chosen = append(c.chosen, activation{p.pod, p.handle})
	c.w.change(p, func() {
		p.last, p.pause = c.now, c.now+doubled(firstPause, p.activations, c.w.retry)
		p.activations++
	})
	return true
}

// overdue returns at most most of the pods that wait for some node and were neither
// tried nor activated for the slow retry's period, those first that were not for longest,
// and no more of a class than it has slots; typical are those of typical pods.
func (w *waiting) overdue(typical int64, most int, now time.Duration) []activation {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := map[*class]int64{nil: typical}
	for _, of := range w.classes.list() {
		left[of] = of.slots.Load()
	}
	in := contest{before: func(a, b *waitingPod) bool { return a.idle(w.retry) < b.idle(w.retry) }, stands: func(g *group) *waitingPod {
		if p := g.idle.first(); p != nil && p.idle(w.retry) <= now {
			return p
		}
		return nil
	}}
	in.groups = slices.Collect(maps.Values(w.groups))
	c := chooser{w: w, now: now}
	in.run(func(g *group, p *waitingPod) (done, stop bool) {
		of := w.classOf(p)
		if left[of] > 0 && c.activate(p) {
			left[of]--
		}
		return left[of] <= 0, len(c.chosen) >= most
	})
	return c.chosen
}

// offer is what a round has to give: the slots of the due nodes.
type offer struct {
	// nodes, views, flights and pending are by place: the flight with the pods that
	// slots are kept for, and whether the node stays due because there are such, or a
	// pod that waits for it can't be activated yet. place leads from an id to a place.
	nodes   []*node
	views   []*view
	flights []reserve.Flight
	pending []bool
	place   map[int]int
	// lots are the slots by class.
	lots []*lot
	// recount counts a node's slots for a class anew beside a pod of another; nil where
	// pods of all classes share the same.
	recount func(v *view, f reserve.Flight, c *class) int
	// next is when a pod can be activated or a slot is no longer kept, 0 for
	// never.
	next time.Duration
}

// lot is what there is for the pods of a class.
type lot struct {
	class *class
	// slots are those left, by place.
	slots []int
	// wanted has the bits of the nodes with slots left, by id; words are the
	// places of its words with any, open counts the nodes.
	wanted []uint64
	words  []int
	open   int
}

// newOffer asks for the slots of nodes, each with its mutex held, for typical pods
// and the given classes.
func newOffer(nodes []*node, classes []*class, slotsOf func(*node, *view, *class) int) *offer {
	o := &offer{place: make(map[int]int), lots: make([]*lot, 1+len(classes))}
	o.lots[0] = &lot{}
	for i, c := range classes {
		o.lots[1+i] = &lot{class: c}
	}
	slots := make([]int, len(o.lots))
	for _, n := range nodes {
		some := false
		n.mu.Lock()
		id, v := n.id, n.view.Load()
		for i, l := range o.lots {
			slots[i] = max(slotsOf(n, v, l.class), 0)
			some = some || slots[i] > 0
		}
		n.mu.Unlock()
		if !some {
			continue
		}
		o.place[id] = len(o.nodes)
		o.nodes, o.views, o.flights = append(o.nodes, n), append(o.views, v), append(o.flights, v.Flight)
		for i, l := range o.lots {
			l.add(id, slots[i])
		}
	}
	o.pending = make([]bool, len(o.nodes))
	for _, l := range o.lots {
		for i, word := range l.wanted {
			if word != 0 {
				l.words = append(l.words, i)
			}
		}
	}
	return o
}

// add appends a node's slots.
func (l *lot) add(id, slots int) {
	l.slots = append(l.slots, slots)
	if slots == 0 {
		return
	}
	if word := id / wordBits; word >= len(l.wanted) {
		l.wanted = append(l.wanted, make([]uint64, word+1-len(l.wanted))...)
	}
	l.wanted[id/wordBits] |= 1 << (id % wordBits)
	l.open++
}

// set lowers the slots at a place.
func (l *lot) set(i, id, slots int) {
	if l.slots[i] > 0 && slots <= 0 {
		l.wanted[id/wordBits] &^= 1 << (id % wordBits)
		l.open--
	}
	l.slots[i] = max(slots, 0)
}

// open says whether there is anything left.
func (o *offer) open() bool {
	return slices.ContainsFunc(o.lots, func(l *lot) bool { return l.open > 0 })
}

// lot returns what there is for a class, nil if that is not known.
func (o *offer) lot(of *class) *lot {
	for _, l := range o.lots {
		if l.class == of {
			return l
		}
	}
	return nil
}

// give gives a pod of a class a slot of the i-th node, which stays due until then.
func (o *offer) give(i int, to *class, until time.Duration) {
	o.pending[i] = true
	o.wait(until)
	o.flights[i] = o.flights[i].With(1, to.demand())
	for _, l := range o.lots {
		left := l.slots[i] - 1
		if l.class != to && l.slots[i] > 0 && o.recount != nil {
			left = min(o.recount(o.views[i], o.flights[i], l.class), l.slots[i])
		}
		l.set(i, o.nodes[i].id, left)
	}
}

// find returns the place of a node with a slot of a lot that is in r.
func (o *offer) find(l *lot, r *reach) (i int, found bool) {
	for _, word := range l.words {
		if both := l.wanted[word] & r.word(word); both != 0 {
			return o.place[word*wordBits+bits.TrailingZeros64(both)], true
		}
	}
	return 0, false
}

// postpone keeps the nodes with a slot of a lot that are in r due until then.
func (o *offer) postpone(l *lot, r *reach, until time.Duration) {
	for _, word := range l.words {
		for both := l.wanted[word] & r.word(word); both != 0; both &= both - 1 {
			o.pending[o.place[word*wordBits+bits.TrailingZeros64(both)]] = true
			o.wait(until)
		}
	}
}

func (o *offer) wait(until time.Duration) {
	if o.next == 0 || until < o.next {
		o.next = until
	}
}

// activate moves pods to the front of their scheduler's queue. The profiles of
// a scheduler share one queue, so any of the handles reaches it; grouping them
// keeps it one call for each.
func activate(ctx context.Context, list []activation) {
	groups := make(map[fwk.Handle]map[string]*v1.Pod)
	for _, a := range list {
		group := groups[a.handle]
		if group == nil {
			group = make(map[string]*v1.Pod)
			groups[a.handle] = group
		}
		group[string(a.pod.UID)] = a.pod
	}
	logger := klog.FromContext(ctx)
	for handle, group := range groups {
		handle.Activate(logger, group)
	}
}
