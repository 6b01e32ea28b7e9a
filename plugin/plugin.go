package plugin

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/reserve"
)

// spazio is the plugin of one profile.
type spazio struct {
	hub    *Hub
	handle fwk.Handle
	// optOut is the name of an annotation, tolerated the key of a taint.
	optOut, tolerated string
	ranking           reserve.Ranking
	energy            energy.Ranker
	// scoreOnly reports whether no node is refused and room only serves for ranking.
	scoreOnly bool
}

var (
	_ fwk.PreFilterPlugin   = (*spazio)(nil)
	_ fwk.FilterPlugin      = (*spazio)(nil)
	_ fwk.PreScorePlugin    = (*spazio)(nil)
	_ fwk.ScorePlugin       = (*spazio)(nil)
	_ fwk.ScoreExtensions   = (*spazio)(nil)
	_ fwk.ReservePlugin     = (*spazio)(nil)
	_ fwk.PreBindPlugin     = (*spazio)(nil)
	_ fwk.PostBindPlugin    = (*spazio)(nil)
	_ fwk.EnqueueExtensions = (*spazio)(nil)
	_ fwk.SignPlugin        = (*spazio)(nil)
)

// Name returns the plugin's name.
func (*spazio) Name() string { return Name }

// exempt reports whether the plugin leaves the placement of a pod to others: a node's own
// pod has one node to go to, a placeholder takes nothing, and a pod may opt out by an
// annotation, or by a toleration where the annotations are not its author's. An exempt pod
// counts like any other once it is placed.
func (p *spazio) exempt(pod *v1.Pod) bool {
	return pod.Annotations[p.optOut] == "true" || objects.IsNodeOwned(pod) || p.hub.Placeholder(pod.UID) ||
		slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool { return t.Key == p.tolerated })
}

// PreFilter records the pod as waiting and then decides for all nodes, in this order, so that a
// rise between the two is seen either here or by the waker.
//
// It decides what Filter would for all nodes at once, so that the framework need not visit nodes
// needlessly: if all have room, Filter is skipped; if none has, the pod is refused with the counts
// that the event would have shown; if few have, the others are left out.
func (p *spazio) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	h := p.hub
	objects.MarkBound(state, pod)
	if p.exempt(pod) || objects.IsBound(pod) || p.scoreOnly {
		h.waiting.drop(pod.UID)
		return nil, fwk.NewStatus(fwk.Skip)
	}
	a, k := new(attempt), h.kindOf(pod)
	granted, overdue := h.waiting.begin(pod, p.handle, a, k)
	if now := h.kindOf(pod); now != k { // its profile has changed and may have missed it
		h.waiting.reclass(k.workload, now.asks)
		k = now
	}
	if !h.synced.Load() {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "pods in flight are still being read from the API")
	}
	c, t := p.judge(a, pod, k.asks)
	if overdue {
		p.admitOverdue(c)
	}
	if granted != nil && !c.admitsNode(granted) {
		h.waiting.release(pod.UID)
	}
	h.metrics.rejected(&t.byReason)
	summary := &Attempt{At: h.clock(), Nodes: len(c.directory.nodes), WithRoom: c.open, Refusals: t.refusals()}
	a.summary.Store(summary)
	h.tried(pod, summary.At, t)
	state.Write(stateKey, c)
	switch refused := t.nodes; {
	case refused == 0 && c.directory.knows(nodes):
		h.waiting.await(pod.UID, a, c.directory.nowhere, false)
		return nil, fwk.NewStatus(fwk.Skip)
	case c.open == 0 && refused > 0 && isPlain(pod):
		p.awaitPlain(pod, c)
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, inWords(summary.Refusals))
	case refused >= narrowFrom && c.open <= refused && isPlain(pod):
		p.awaitPlain(pod, c)
		return &fwk.PreFilterResult{NodeNames: c.names()}, nil
	}
	if isTentative(state) {
		h.waiting.await(pod.UID, a, placement.EveryNode(), false)
		return nil, nil
	}
	c.waitSet = newRefusedNodes(c.directory.limit)
	h.waiting.follow(pod.UID, a, c.waitSet)
	return nil, nil
}

// awaitPlain makes a plain pod wait for the nodes whose taints it tolerates, except those with
// room: if it is placed on none of these, they were tried without success.
func (p *spazio) awaitPlain(pod *v1.Pod, c *cycle) {
	set, isRefused := placement.EveryNode(), false
	for i, n := range c.directory.nodes {
		if c.admits(i) || n.repels(pod) {
			set.Remove(n.id)
		} else {
			isRefused = true
		}
	}
	p.hub.waiting.await(pod.UID, c.attempt, set, isRefused)
}

// narrowFrom is the number of refused nodes from which naming the others pays. Fewer are visited
// in less time than a bind takes, and visiting them shows more in the event of a pod that fits no
// node.
const narrowFrom = 100

// PreFilterExtensions returns nil: evicting a pod does not change what a node
// reports before the next report.
func (*spazio) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter refuses a node without room. The code is Unresolvable, because otherwise every full node
// would be a candidate for preemption.
func (p *spazio) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	if p.scoreOnly || objects.IsBound(pod) {
		return nil
	}
	c, err := p.cycle(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	i, known := c.directory.places[info.Node().Name]
	if known && c.admits(i) {
		return nil
	}
	if c.attempt.refuse() {
		p.hub.waiting.refused(pod.UID, c.attempt)
	}
	if !known {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messages[reserve.Stale])
	}
	if c.waitSet != nil {
		c.learn(i, p.hub)
	}
	return c.refuse(i)
}

// PreScore skips the scoring of exempt pods, and makes the cycle's view where a profile enables
// only the score or ignores the room.
func (p *spazio) PreScore(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if p.exempt(pod) || objects.IsBound(pod) {
		return fwk.NewStatus(fwk.Skip)
	}
	if _, err := p.cycle(state); err != nil {
		c, _ := p.judge(new(attempt), pod, p.hub.kindOf(pod).asks)
		if p.scoreOnly {
			c.scoreOnly(&p.hub.rules)
		}
		state.Write(stateKey, c)
	}
	return nil
}

// Reserve checks once more whether the node has room, and puts the pod in flight. Both are one
// step, because the node is locked meanwhile. A placeholder is never in flight, because no report
// will ever list it: what it holds counts from its bind. A pod that was scheduled with its node, for
// a resize that the node has deferred, changes nothing.
func (p *spazio) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, name string) *fwk.Status {
	h := p.hub
	if h.Placeholder(pod.UID) || objects.WasBound(state) {
		return nil
	}
	key, demand, tentative := reserve.KeyOf(string(pod.UID)), h.enter(pod), isTentative(state)
	n := h.nodes.get(name)
	if n == nil {
		// The node's own event is late; no report of it can have been accepted yet.
		err := h.ledger.Reserve(name, key, demand, h.clock())
		h.updateDemand(pod, key, demand)
		return p.reserved(state, pod, name, -1, nil, err)
	}
	n.mu.Lock()
	h.refreshLocked(n)
	v, at, admittedOverdue, reason := n.view.Load(), h.moment(), false, reserve.Admitted
	if !p.exempt(pod) && !p.scoreOnly {
		if reason, admittedOverdue = p.decideAgain(state, pod, n, v, at); reason != reserve.Admitted && !admittedOverdue {
			n.mu.Unlock()
			// Another node may have room for it.
			h.waiting.lost(pod.UID)
			h.histories.lost(key)
			return fwk.NewStatus(fwk.Unschedulable, fmt.Sprintf("node %s changed during scheduling: %s", name, reason))
		}
		if !tentative && !admittedOverdue {
			h.observe(n, v, at.Now)
		}
		if !tentative {
			h.compare(pod, v, at, admittedOverdue)
		}
	}
	if tentative {
		h.waiting.hold(n, v, pod.UID)
	}
	err := h.ledger.Reserve(name, key, demand, h.clock())
	h.updateDemand(pod, key, demand)
	if admittedOverdue && err == nil {
		p.reservedOverdue(state, key, reason)
	}
	h.refreshLocked(n)
	n.mu.Unlock()
	if err == nil && !tentative {
		h.metrics.podsBySource[h.knowledge(pod).source].Inc()
	}
	return p.reserved(state, pod, name, n.id, v, err)
}

// decideAgain decides on a pod for a node that is locked and looks as in v, unless the pod has been
// admitted to it with its gang.
func (p *spazio) decideAgain(state fwk.CycleState, pod *v1.Pod, n *node, v *view, at reserve.Moment) (reason reserve.Reason, overdue bool) {
	if c, err := p.cycle(state); err == nil && c.granted == n.name {
		return c.short, c.admittedOverdue
	}
	asks := p.hub.asks(p.hub.knowledge(pod))
	reason = p.hub.rules.decide(v, asks, at)
	return reason, reason != reserve.Admitted && p.admitsOverdue(state, n, v, asks, at)
}

// observe records a granted reservation; n is locked.
func (h *Hub) observe(n *node, v *view, now time.Duration) {
	if !v.fresh(now) {
		return
	}
	h.metrics.signalAge.Observe((now - v.sampled).Seconds())
	if h.options.OnReserve != nil {
		h.options.OnReserve(n.name, v.Signal, v.Flight)
	}
}

// compare counts a reservation that would have come out differently if known pods were counted as
// what they take, unless they are: one on a node that would have been refused or, for an overdue
// pod, one on a node that would have had room.
func (h *Hub) compare(pod *v1.Pod, v *view, at reserve.Moment, overdue bool) {
	if h.profiling.off() {
		return
	}
	k := h.knowledge(pod)
	if h.rules.byDemand && (k.decides || k.source != SourceProfile) {
		return
	}
	switch admitted := h.rules.byProfile(v, h.demand(k), at) == reserve.Admitted; {
	case !overdue && !admitted:
		h.metrics.differences[differenceRefuse].Inc()
	case overdue && admitted && k.source == SourceProfile:
		h.metrics.differences[differenceAdmit].Inc()
	}
}

// reserved ends a Reserve on the node with an id; v is the node as it was just before. They are
// -1 and nil for a node that is not known.
func (p *spazio) reserved(state fwk.CycleState, pod *v1.Pod, name string, id int, v *view, err error) *fwk.Status {
	if err != nil {
		return fwk.AsStatus(err)
	}
	if isTentative(state) {
		if c, err := p.cycle(state); err == nil {
			c.granted = name
		}
		return nil
	}
	first, tried, marked := p.hub.waiting.reserved(pod.UID, id)
	if tried {
		p.hub.metrics.toReserve.Observe((p.hub.now() - first).Seconds())
	}
	key := reserve.KeyOf(string(pod.UID))
	p.hub.histories.reserved(key, p.hub.clock())
	if c, err := p.cycle(state); err == nil {
		c.marked = marked
		if summary := c.attempt.summary.Load(); summary != nil {
			a := *summary
			a.Reserved = name
			if v != nil {
				a.InFlight = v.Flight.Demand
			}
			if v != nil && v.fresh(p.hub.now()) {
				a.Avail = new(v.Signal.Avail)
			}
			p.hub.histories.placed(key, &a)
		}
	}
	return nil
}

// Unreserve takes the pod out of flight again. It may come without a Reserve.
func (p *spazio) Unreserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, name string) {
	if isTentative(state) {
		p.unreserveTentative(state, pod, name)
		return
	}
	key := reserve.KeyOf(string(pod.UID))
	if !p.hub.ledger.Unreserve(name, key) {
		if _, claimed := p.hub.ledger.Pod(key); !claimed {
			p.hub.workloads.leave(key) // a Reserve that refused the pod has entered it
		}
		p.hub.forgetGone(pod)
		return
	}
	p.hub.workloads.leave(key)
	p.hub.waiting.failed(pod)
	p.hub.returned(pod)
	p.hub.refresh(name)
}

// PostBind notifies the node's agent, so that it knows the pod before the container runtime does.
// Placeholders are sent when the API shows them.
func (p *spazio) PostBind(_ context.Context, state fwk.CycleState, pod *v1.Pod, name string) {
	if p.hub.Placeholder(pod.UID) {
		return
	}
	key := reserve.KeyOf(string(pod.UID))
	p.hub.ledger.MarkBound(key)
	p.hub.histories.bound(key, p.hub.clock(), false)
	p.hub.notify(name, p.hub.bindOf(key, pod))
	if c, err := p.cycle(state); err == nil && c.admittedOverdue {
		p.announceOverdue(pod, name, c.short)
	}
}

// signature holds what the plugin's decisions depend on in a pod.
type signature struct {
	Demand float64
	Exempt bool
	// Asks is set for pods that are known to ask for something else than typical ones.
	Asks *reserve.Demand `json:",omitempty"`
	// Cores is how many cores the pod is expected to keep busy, rounded, if nodes are ranked by
	// energy.
	Cores float64 `json:",omitempty"`
}

// SignPod lets pods that the plugin treats alike share a scheduling result. Without it, batching
// would be off for the whole profile.
func (p *spazio) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	s := signature{Demand: podDemand.Pods(), Exempt: p.exempt(pod)}
	if asks := p.hub.kindOf(pod).asks; asks != podDemand {
		s.Asks = &asks
	}
	if p.ranking.Energy > 0 {
		s.Cores = energy.RoundCores(p.hub.cores(pod))
	}
	return []fwk.SignFragment{{Key: Name + ".Demand()", Value: s}}, nil
}

// EventsToRegister names the events of the API that may help a pod the plugin
// refused. A rising signal is no such event; the Hub wakes pods then. Nor is the
// deletion of a pod: the Hub's informer handler counts what it frees and wakes as
// many pods as that, where a hint would queue every waiting pod for each.
func (p *spazio) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	nodeUpdates := fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | nodeUpdates}, QueueingHintFn: p.nodeChanged},
	}, nil
}

// nodeChanged queues a pod where a node that has room now may have become fit
// for it: room gained while the node was tainted woke the pod without success. The labels by which
// autoscalers see nodes help none.
func (p *spazio) nodeChanged(_ klog.Logger, pod *v1.Pod, before, after any) (fwk.QueueingHint, error) {
	node, ok := after.(*v1.Node)
	if !ok {
		return fwk.Queue, nil
	}
	if old, ok := before.(*v1.Node); ok && old != nil && onlyMarksDiffer(old, node) {
		return fwk.QueueSkip, nil
	}
	h := p.hub
	n := h.nodes.get(node.Name)
	if n == nil || h.rules.decide(n.view.Load(), h.kindOf(pod).asks, h.moment()) == reserve.Admitted {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// judge decides for all nodes as they are now on a pod of a demand and counts the
// refused. Energy refuses none.
func (p *spazio) judge(a *attempt, pod *v1.Pod, asks reserve.Demand) (*cycle, *refusalCounts) {
	h := p.hub
	d, at := h.nodes.list(), h.moment()
	c := &cycle{directory: d, attempt: a, at: at, asks: asks}
	c.statuses = sync.OnceValue(func() []fwk.Status { return make([]fwk.Status, len(c.directory.nodes)-c.open) })
	if p.ranking.Energy > 0 {
		c.energy = d.energy(&p.energy, h.cores(pod), at.Now)
	}
	for i, n := range d.nodes {
		v := n.view.Load()
		reason := h.rules.decide(v, asks, at)
		if reason == reserve.Admitted {
			continue
		}
		if c.refused == nil {
			c.refused = make([]refusedNode, len(d.nodes))
		}
		c.refused[i] = refusedNode{v, c.refusals.find(v, reason)}
		c.refusals.add(c.refused[i].message, 1)
	}
	c.open = len(d.nodes) - c.refusals.nodes
	return c, &c.refusals
}

// stateKey finds a cycle in a CycleState.
const stateKey fwk.StateKey = Name

// cycle returns the state's cycle.
func (p *spazio) cycle(state fwk.CycleState) (*cycle, error) {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil, fmt.Errorf("plugin: read %s: %w (is PreFilter enabled?)", stateKey, err)
	}
	c, ok := data.(*cycle)
	if !ok {
		return nil, fmt.Errorf("plugin: %s holds a %T", stateKey, data)
	}
	return c, nil
}

// admitOverdue admits the cycle's pod, which is overdue, to the nodes that have places for overdue
// pods.
func (p *spazio) admitOverdue(c *cycle) {
	for i, n := range c.directory.nodes {
		if c.admits(i) {
			continue
		}
		if v := n.view.Load(); p.hub.rules.places(n, v, c.asks, c.at) > 0 {
			c.admitOverdue(i, v)
		}
	}
}

// admitsOverdue reports whether a cycle's pod may go to a node without room, whose mutex is held.
func (p *spazio) admitsOverdue(state fwk.CycleState, n *node, v *view, asks reserve.Demand, at reserve.Moment) bool {
	c, err := p.cycle(state)
	return err == nil && c.overdue && p.hub.rules.places(n, v, asks, at) > 0
}

// reservedOverdue records that a pod was reserved on a node without room, whose mutex is held, so
// that the check of the next such pod counts it.
func (p *spazio) reservedOverdue(state fwk.CycleState, key reserve.PodKey, short reserve.Reason) {
	p.hub.ledger.MarkOverdue(key)
	if c, err := p.cycle(state); err == nil {
		c.admittedOverdue, c.short = true, short
	}
}

const (
	// scoreUnit turns a raw score into an integer for NormalizeScore; scoreMost
	// keeps that in range.
	scoreUnit = 1 << 20
	scoreMost = 1 << 40
	// neutralScore marks a node without a signal.
	neutralScore = -1
)

// Score returns the raw score in units of 2⁻²⁰, or neutralScore.
func (p *spazio) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) (int64, *fwk.Status) {
	c, err := p.cycle(state)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	i, known := c.directory.places[info.Node().Name]
	if !known {
		return neutralScore, nil
	}
	raw := c.score(c.directory.nodes[i].view.Load(), p.hub.options.Random(), &p.hub.rules, p.ranking)
	if math.IsNaN(raw) {
		return neutralScore, nil
	}
	return int64(min(raw, scoreMost) * scoreUnit), nil
}

// ScoreExtensions returns the plugin itself, which normalises.
func (p *spazio) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore brings the raw scores to 0..100.
func (*spazio) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	raw := make([]float64, len(scores))
	for i, s := range scores {
		raw[i] = float64(s.Score)
		if s.Score == neutralScore {
			raw[i] = math.NaN()
		}
	}
	for i, score := range reserve.NormalizeTo(nil, raw) {
		scores[i].Score = score
	}
	return nil
}
