package plugin

import (
	"context"
	"math/bits"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// round activates the pods that the slots of the due nodes are granted to, and
// says after how long there is more to do, 0 for not before the next rise.
func (w *waiting) round(ctx context.Context, now time.Duration) (activated int, again time.Duration) {
	w.mu.Lock()
	due := make([]*node, 0, len(w.due))
	for n := range w.due {
		due = append(due, n)
	}
	// One that rises from here on becomes due anew.
	clear(w.due)
	w.mu.Unlock()
	// A node's mutex is never taken with w.mu held.
	o := newOffer(due, func(n *node) int { return n.slots })

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
		if p.until <= now {
			p.granted = nil
		}
		return p.granted == nil
	})
	for _, p := range w.granted {
		if i, due := o.place[p.granted.id]; due {
			o.give(i, p.until)
		}
		o.wait(c.again(p))
	}
	w.anywhere = slices.DeleteFunc(w.anywhere, func(p *waitingPod) bool { return !p.anywhere })
	for _, p := range w.anywhere {
		o.wait(c.again(p))
	}
	for _, p := range w.order {
		if o.open == 0 {
			break
		}
		if !p.anywhere {
			c.offer(p, o)
		}
	}
	for _, uid := range c.ghosts {
		w.forget(uid)
	}
	return c.chosen
}

// chooser collects the pods of a round.
type chooser struct {
	w      *waiting
	now    time.Duration
	chosen []activation
	ghosts []types.UID
}

// activation is what a pod is activated by.
type activation struct {
	pod    *v1.Pod
	handle fwk.Handle
}

// offer grants p the slot of a node that it waits for, if there is one. A pod
// that was activated before and has not come is activated again, but no slot is
// kept for it any more.
func (c *chooser) offer(p *waitingPod, o *offer) {
	r := p.attempt.reach.Load()
	if p.granted != nil {
		o.postpone(r, p.until)
		return
	}
	if p.pause > c.now {
		o.postpone(r, p.pause)
		return
	}
	i, found := o.find(r)
	if !found {
		return
	}
	first := p.activations == 0
	if !c.activate(p) {
		return
	}
	if !first {
		o.postpone(r, p.pause)
		return
	}
	p.granted, p.until = o.nodes[i], c.now+grantTime
	c.w.granted = append(c.w.granted, p)
	o.give(i, p.until)
	o.wait(p.pause)
}

// again activates a pod whose pause is over, and returns when to do so next.
func (c *chooser) again(p *waitingPod) time.Duration {
	if p.pause <= c.now {
		c.activate(p)
	}
	return p.pause
}

// activate says whether the pod still waits.
func (c *chooser) activate(p *waitingPod) bool {
	if !c.w.waits(p.pod) {
		c.ghosts = append(c.ghosts, p.pod.UID)
		return false
	}
	c.chosen = append(c.chosen, activation{p.pod, p.handle})
	p.last, p.pause = c.now, c.now+doubled(firstPause, p.activations, c.w.retry)
	p.activations++
	return true
}

// overdue returns at most n of the pods that wait for some node and were
// neither tried nor activated for the slow retry's period.
func (w *waiting) overdue(n int, now time.Duration) []activation {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := chooser{w: w, now: now}
	for _, p := range w.order {
		if len(c.chosen) >= n {
			break
		}
		if now-p.last >= w.retry && p.pause <= now && !p.attempt.reach.Load().empty() {
			c.activate(p)
		}
	}
	for _, uid := range c.ghosts {
		w.forget(uid)
	}
	return c.chosen
}

// offer is what a round has to give: the slots of the due nodes.
type offer struct {
	// nodes, slots and pending are by place: the slots left, and whether the node
	// stays due because a slot is kept for a pod, or a pod that waits for it can't
	// be activated yet. place leads from an id to a place.
	nodes   []*node
	slots   []int
	pending []bool
	place   map[int]int
	// wanted has the bits of the nodes with slots left, by id; words are the
	// places of its words with any, open counts the nodes.
	wanted []uint64
	words  []int
	open   int
	// next is when a pod can be activated or a slot is no longer kept, 0 for
	// never.
	next time.Duration
}

// newOffer asks for the slots of nodes, each with its mutex held.
func newOffer(nodes []*node, slotsOf func(*node) int) *offer {
	o := &offer{place: make(map[int]int)}
	for _, n := range nodes {
		n.mu.Lock()
		id, slots := n.id, slotsOf(n)
		n.mu.Unlock()
		if slots <= 0 {
			continue
		}
		o.place[id] = len(o.nodes)
		o.nodes, o.slots = append(o.nodes, n), append(o.slots, slots)
		if word := id / wordBits; word >= len(o.wanted) {
			o.wanted = append(o.wanted, make([]uint64, word+1-len(o.wanted))...)
		}
		o.wanted[id/wordBits] |= 1 << (id % wordBits)
	}
	o.pending, o.open = make([]bool, len(o.nodes)), len(o.nodes)
	for i, word := range o.wanted {
		if word != 0 {
			o.words = append(o.words, i)
		}
	}
	return o
}

// give takes a slot of the i-th node, which stays due until then.
func (o *offer) give(i int, until time.Duration) {
	o.pending[i] = true
	o.wait(until)
	if o.slots[i]--; o.slots[i] == 0 {
		id := o.nodes[i].id
		o.wanted[id/wordBits] &^= 1 << (id % wordBits)
		o.open--
	}
}

// find returns the place of a node with a slot that is in r.
func (o *offer) find(r *reach) (i int, found bool) {
	for _, word := range o.words {
		if both := o.wanted[word] & r.word(word); both != 0 {
			return o.place[word*wordBits+bits.TrailingZeros64(both)], true
		}
	}
	return 0, false
}

// postpone keeps the nodes with a slot that are in r due until then.
func (o *offer) postpone(r *reach, until time.Duration) {
	for _, word := range o.words {
		for both := o.wanted[word] & r.word(word); both != 0; both &= both - 1 {
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
