package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/reserve"
)

// OverdueCondition is the type of the condition that marks a pod which waited for
// measured room for longer than maxWait and was then bound to a node without. It
// is written before the bind, so that every scheduler, also one that starts later,
// counts the overdue pods of a node; a scheduler may patch pods' status anyway.
const OverdueCondition v1.PodConditionType = "spazio-scheduler.github.io/overdue"

// overdueReason is the reason of the condition and of the event.
const overdueReason = "OverdueAdmission"

// isOverdue says whether a pod was bound to a node without room.
func isOverdue(pod *v1.Pod) bool { return conditionOf(pod, OverdueCondition, v1.ConditionTrue) != nil }

// conditionOf returns a pod's condition if it has the given status, or nil.
func conditionOf(pod *v1.Pod, kind v1.PodConditionType, status v1.ConditionStatus) *v1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind && c.Status == status {
			return c
		}
	}
	return nil
}

// refusedSince is when the API first showed a pod as unschedulable, if its
// condition says that this plugin refuses it nodes; else the zero time. It is all
// that a scheduler knows of the pods that waited before it started.
func refusedSince(pod *v1.Pod) time.Time {
	c := conditionOf(pod, v1.PodScheduled, v1.ConditionFalse)
	if c == nil || c.Reason != v1.PodReasonUnschedulable {
		return time.Time{}
	}
	for _, reason := range reserve.Reasons() {
		if strings.Contains(c.Message, nameless.text[reason][0]) {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// places returns how many overdue pods of a demand a node as seen in v takes besides
// those that have room.
func (r *rules) places(n *node, v *view, d reserve.Demand, at reserve.Moment) int {
	if !v.fresh(at.Now) {
		return 0
	}
	return r.trickle.Places(v.signal, v.flight, d, n.account.Trickled(), int(n.cores.Load()), r.admit)
}

// trickle admits the cycle's pod, which is overdue, to the nodes that have places
// for such.
func (p *spazio) trickle(c *cycle, t *tally) {
	if t.nodes == 0 {
		return
	}
	for i, n := range c.directory.nodes {
		if c.verdicts[i].reason() == reserve.Admitted {
			continue
		}
		v := n.view.Load()
		if p.hub.rules.places(n, v, c.asks, c.at) == 0 {
			continue
		}
		t.remove(c.verdicts[i])
		c.verdicts[i] = verdict(reserve.Admitted)
		c.open++
		c.overdue, c.lowest = true, min(c.lowest, v.rankFor(c.asks))
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
	p.hub.ledger.MarkTrickled(key)
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
	if woken := h.waiting.trickle(o, &h.rules.trickle, at.Now); len(woken) > 0 {
		h.metrics.activations(causeOverdue, len(woken))
		activate(ctx, woken)
	}
}

// late brings up to date since when each pod waits for room, and says whether one
// is overdue.
func (w *waiting) late(t *reserve.Trickle, now time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := false
	for _, p := range w.order {
		w.tried(p)
		late = late || p.overdue(t, w.start.Add(now))
	}
	return late
}

// tried brings up to date since when a pod waits for room whose last attempt has
// ended, or may have; w.mu is held.
func (w *waiting) tried(p *waitingPod) {
	if p.since.IsZero() && p.attempt.waitsForRoom() {
		p.since = w.start.Add(p.began)
	}
}

// overdue says whether the pod has waited for room for too long.
func (p *waitingPod) overdue(t *reserve.Trickle, clock time.Time) bool {
	return !p.since.IsZero() && t.Overdue(clock.Sub(p.since))
}

// trickle returns overdue pods for the places of an offer, by priority, then
// arrival.
func (w *waiting) trickle(o *offer, t *reserve.Trickle, now time.Duration) []activation {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := chooser{w: w, now: now}
	for _, p := range w.order {
		if !o.open() || len(c.chosen) == overdueMost {
			break
		}
		if p.granted != nil || p.pause > now || !p.overdue(t, w.start.Add(now)) {
			continue
		}
		r := p.attempt.reach()
		// For a pod of which is not known what it waits for, an attempt may be vain.
		if r == everyNode && now-p.last < w.retry {
			continue
		}
		of := w.classes.at(p.class)
		l := o.lot(of)
		if l == nil {
			continue
		}
		if i, found := o.find(l, r); found && c.activate(p) {
			o.give(i, of, p.pause)
		}
	}
	for _, uid := range c.ghosts {
		w.forget(uid)
	}
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
func (w *waiting) forRoom() (pods int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.order {
		if !p.since.IsZero() {
			pods++
		}
	}
	return pods
}

// preFlight skips PreBind for all but overdue pods.
func (p *spazio) preFlight(state fwk.CycleState) *fwk.Status {
	if c, err := p.cycle(state); err == nil && c.trickled {
		return nil
	}
	return fwk.NewStatus(fwk.Skip)
}

// PreBind marks an overdue pod in the API.
func (p *spazio) PreBind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{"conditions": []v1.PodCondition{{
			Type: OverdueCondition, Status: v1.ConditionTrue, Reason: overdueReason,
			Message: p.overdueMessage(), LastTransitionTime: metav1.NewTime(p.hub.clock()),
		}}},
	})
	if err != nil {
		return fwk.AsStatus(err)
	}
	pods := p.handle.ClientSet().CoreV1().Pods(pod.Namespace)
	if _, err := pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fwk.AsStatus(fmt.Errorf("plugin: mark an overdue pod: %w", err))
	}
	return nil
}

func (p *spazio) overdueMessage() string {
	return fmt.Sprintf("No node had measured room for %v", p.hub.rules.trickle.WithDefaults().MaxWait)
}

// announceOverdue tells of an overdue pod that was bound.
func (p *spazio) announceOverdue(pod *v1.Pod, node string, short reserve.Reason) {
	p.hub.metrics.overdue.Inc()
	which := ""
	if short == reserve.NoCPU || short == reserve.NoMemory {
		which = fmt.Sprintf(" (%s)", short)
	}
	if recorder := p.handle.EventRecorder(); recorder != nil {
		recorder.Eventf(pod, nil, v1.EventTypeWarning, overdueReason, "Binding",
			"%s: bound to %s, which has none either%s", p.overdueMessage(), node, which)
	}
}
