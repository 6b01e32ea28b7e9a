package plugin

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/reserve"
)

// This file is about gangs, whose pods start together or not at all: those of a PodGroup. The
// scheduler tries a gang by reserving its pods one after the other, so that each counts for the next,
// and then takes all of that back. Only if enough of them fit, it reserves these for good, without a
// look for nodes. What was found for them stands then, or a report in between would break the gang up.
//
// That a reservation was only tentative must not be news to pods that wait, the gang's own among
// them, or each attempt would cause the next. While nodes have such reservations, the waiting pods
// see them as they were before. And what helps a pod of a gang is not room on the nodes that it was
// refused, which its own gang may have taken, but more room than there was: it waits for every node.

// tentativeNode is a node as it was before pods were tentatively reserved on it.
type tentativeNode struct {
	view *view
	pods map[types.UID]struct{}
}

// hold has waiting pods see a node as it is in v as long as it has tentative reservations.
func (w *waiting) hold(n *node, v *view, pod types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.tentative[n]
	if t == nil {
		t = &tentativeNode{v, make(map[types.UID]struct{})}
		w.tentative[n] = t
	}
	t.pods[pod] = struct{}{}
}

// unhold ends hold for a pod, and wakes pods if the node has changed meanwhile.
func (w *waiting) unhold(n *node, pod types.UID) {
	w.lock()
	defer w.unlock()
	t := w.tentative[n]
	if t == nil {
		return
	}
	if delete(t.pods, pod); len(t.pods) > 0 {
		return
	}
	delete(w.tentative, n)
	if w.has(n) { // what reports have changed meanwhile is news now
		w.queue.NotifyNode(n.id, w.at.Now)
	}
}

// viewOf returns a node as waiting pods see it.
func (w *waiting) viewOf(n *node) *view {
	if t := w.tentative[n]; t != nil {
		return t.view
	}
	return n.view.Load()
}

// unreserveTentative takes back the tentative reservation of a pod, which goes on waiting.
func (p *spazio) unreserveTentative(state fwk.CycleState, pod *v1.Pod, name string) {
	h, key := p.hub, reserve.KeyOf(string(pod.UID))
	n := h.nodes.get(name)
	if h.ledger.Unreserve(name, key) {
		h.workloads.leave(key)
		h.refresh(name)
	}
	if n != nil {
		h.waiting.unhold(n, pod.UID)
	}
	if c, err := p.cycle(state); err == nil && c.admittedOverdue {
		h.waiting.failed(pod) // the place is free again and would wake it
	}
}
