package plugin

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/reserve"
)

// places returns how many overdue pods of a demand a node as seen in v takes besides
// those that have room.
func (r *rules) places(n *node, v *view, d reserve.Demand, at reserve.Moment) int {
	if !v.fresh(at.Now) {
		return 0
	}
	return r.trickle.Places(v.Signal, v.Flight, d, n.account.Overdue(), int(n.cores.Load()), r.admit)
}

// trickle admits the cycle's pod, which is overdue, to the nodes that have places
// for such.
func (p *spazio) trickle(c *cycle, t *refusalCounts) {
	if t.nodes == 0 {
		return
	}
	for i, n := range c.directory.nodes {
		if c.admits(i) {
			continue
		}
		if v := n.view.Load(); p.hub.rules.places(n, v, c.asks, c.at) > 0 {
			c.admitOverdue(i, v, &p.hub.rules)
		}
	}
}

// mayTrickle says whether a cycle's pod may go to a node without room, whose mutex
// is held.
func (p *spazio) mayTrickle(state fwk.CycleState, n *node, v *view, asks reserve.Demand, at reserve.Moment) bool {
	c, err := p.cycle(state)
	return err == nil && c.overdue && p.hub.rules.places(n, v, asks, at) > 0
}

// reservedOverdue notes a pod that was reserved on a node without room, whose mutex
// is held: the next such pod must find it there.
func (p *spazio) reservedOverdue(state fwk.CycleState, key reserve.PodKey, short reserve.Reason) {
	p.hub.ledger.MarkOverdue(key)
	if c, err := p.cycle(state); err == nil {
		c.trickled, c.short = true, short
	}
}

// wakeOverdue activates overdue pods, at most as many as there are places for
// them.
func (h *Hub) wakeOverdue(ctx context.Context, at reserve.Moment) {
	if !h.waiting.late(&h.rules.trickle, at.Now) {
		return
	}
	d := h.nodes.list()
	o := newOffer(d.nodes, h.waiting.classes.list(), func(n *node, v *view, c *class) int {
		if !n.inAPI {
			return 0
		}
		return h.rules.places(n, v, c.demand(), at)
	})
	if !o.open() {
		return
	}
	if woken := h.waiting.trickle(o, at.Now); len(woken) > 0 {
		h.metrics.activations(causeOverdue, len(woken))
		activate(ctx, woken)
	}
}

// late sees to the pods that have waited for room for long, and reports whether one is
// overdue.
func (w *waiting) late(t *reserve.OverdueAdmission, now time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range agedMost {
		p := w.young.first()
		if p == nil || t.Off || w.start.Add(now).Before(p.stage(t)) {
			break
		}
		w.young.remove(p)
		if !p.marked {
			p.marked = true
			w.marks = append(w.marks, p)
			w.young.add(p)
			continue
		}
		w.part(p)
		p.late = true
		w.join(p, p.group.reach)
	}
	return w.lates > 0
}

// agedMost bounds how many pods one inspection marks or finds to be overdue, so that it does not
// hold the mutex for long. The others follow at the next one.
const agedMost = 1000

// refused notes that the plugin alone has refused the pod of an attempt a node.
func (w *waiting) refused(uid types.UID, a *attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil && p.attempt == a {
		w.tried(p)
	}
}

// tried brings up to date since when a pod waits for room that the plugin may have refused a
// node; w.mu is held.
func (w *waiting) tried(p *waitingPod) {
	if p.since.IsZero() && p.attempt.refused.Load() {
		w.wantRoom(p, w.start.Add(p.began))
	}
}

// stage is when a pod that waits for room is to be marked or, once it is, turns overdue.
func (p *waitingPod) stage(t *reserve.OverdueAdmission) time.Time {
	wait := t.WithDefaults().MaxWait
	if !p.marked {
		wait /= markFraction
	}
	return p.since.Add(wait)
}

// trickle returns overdue pods for the places of an offer, by priority, then
// arrival. For a pod of which is not known what it waits for, an attempt may be in vain, so
// it has to have been idle for long.
func (w *waiting) trickle(o *offer, now time.Duration) []activation {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := contest{before: func(a, b *waitingPod) bool { return comparePods(a, b) < 0 }, stands: func(g *group) *waitingPod {
		if g.reach != everyNode {
			return g.ready.first()
		}
		if p := g.idle.first(); p != nil && p.idle(w.retry) <= now {
			return p
		}
		return nil
	}}
	for _, g := range w.groups {
		if g.late && o.lot(w.classes.at(g.kin.class)) != nil {
			g.advance(now)
			in.groups = append(in.groups, g)
		}
	}
	c := chooser{w: w, now: now}
	in.run(func(g *group, p *waitingPod) (done, stop bool) {
		of := w.classOf(p)
		i, found := o.find(o.lot(of), g.reach)
		if found && c.activate(p) {
			o.give(i, of, p.pause)
		}
		return !found, !o.open() || len(c.chosen) == overdueMost
	})
	return c.chosen
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

// forRoom counts the pods that wait for room.
func (w *waiting) forRoom() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanting
}
