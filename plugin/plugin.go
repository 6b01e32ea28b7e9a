package plugin

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/reserve"
)

// spazio is the plugin of one profile.
type spazio struct {
	hub     *Hub
	handle  fwk.Handle
	optOut  string
	ranking reserve.Ranking
}

var (
	_ fwk.PreFilterPlugin   = (*spazio)(nil)
	_ fwk.FilterPlugin      = (*spazio)(nil)
	_ fwk.PreScorePlugin    = (*spazio)(nil)
	_ fwk.ScorePlugin       = (*spazio)(nil)
	_ fwk.ScoreExtensions   = (*spazio)(nil)
	_ fwk.ReservePlugin     = (*spazio)(nil)
	_ fwk.PostBindPlugin    = (*spazio)(nil)
	_ fwk.EnqueueExtensions = (*spazio)(nil)
	_ fwk.SignPlugin        = (*spazio)(nil)
)

// Name returns the plugin's name.
func (*spazio) Name() string { return Name }

// stateKey finds a cycle in a CycleState.
const stateKey fwk.StateKey = Name

// cycle is the state of all nodes as one scheduling cycle sees it. After
// PreFilter only refused changes, so that clones may share it.
type cycle struct {
	// refused is set when the plugin refuses the pod a node.
	refused   atomic.Bool
	directory *directory
	views     []*view
	now       time.Duration
}

// Clone implements fwk.StateData.
func (c *cycle) Clone() fwk.StateData { return c }

// view returns the node's view, or nil for a node that the Hub has not seen.
func (c *cycle) view(name string) *view {
	i, ok := c.directory.index[name]
	if !ok {
		return nil
	}
	return c.views[i]
}

// look fills c with the newest views.
func (h *Hub) look(c *cycle) *cycle {
	c.directory, c.now = h.nodes.list(), h.now()
	c.views = make([]*view, len(c.directory.nodes))
	for i, n := range c.directory.nodes {
		c.views[i] = n.view.Load()
	}
	return c
}

// exempt says that the plugin leaves the placement of a pod to others: a
// DaemonSet's pod has but one node to go to, and a pod may opt out.
func (p *spazio) exempt(pod *v1.Pod) bool {
	if pod.Annotations[p.optOut] == "true" || isMirror(pod) {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// PreFilter remembers the pod as waiting and takes the cycle's view, in this
// order: a rise between the two is then seen either here or by the waker.
func (p *spazio) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if p.exempt(pod) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	c := new(cycle)
	p.hub.waiting.attempt(pod, p.handle, &c.refused, p.hub.now())
	if !p.hub.synced.Load() {
		c.refused.Store(true)
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "pods in flight are still being read from the API")
	}
	state.Write(stateKey, p.hub.look(c))
	return nil, nil
}

// PreFilterExtensions returns nil: evicting a pod does not change what a node
// reports before the next report.
func (*spazio) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter refuses a node without room. The code is Unresolvable, for otherwise
// every full node would be a candidate for preemption.
func (p *spazio) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	c, err := readCycle(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	v := c.view(info.Node().Name)
	if v == nil {
		return p.refuse(c, reserve.Stale, refusalsFor(nil))
	}
	if reason := p.hub.rules.admitView(v, c.now); reason != reserve.Admitted {
		return p.refuse(c, reason, v.refusals)
	}
	return nil
}

func (p *spazio) refuse(c *cycle, reason reserve.Reason, messages *refusals) *fwk.Status {
	if !c.refused.Load() {
		c.refused.Store(true)
	}
	p.hub.metrics.rejection(reason)
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messages[reason]...)
}

func readCycle(state fwk.CycleState) (*cycle, error) {
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

// PreScore leaves out the scoring of exempt pods, and sees to a view where a
// profile enables the score alone.
func (p *spazio) PreScore(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if p.exempt(pod) {
		return fwk.NewStatus(fwk.Skip)
	}
	if _, err := readCycle(state); err != nil {
		state.Write(stateKey, p.hub.look(new(cycle)))
	}
	return nil
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
	c, err := readCycle(state)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	v := c.view(info.Node().Name)
	if v == nil || !p.scored(v, c.now) {
		return neutralScore, nil
	}
	raw := reserve.Score(reserve.Free(v.signal.Avail, v.inflight), v.signal.K, p.hub.options.Random(), p.ranking)
	return int64(math.Min(raw, scoreMost) * scoreUnit), nil
}

// scored says whether a node is ranked by its signal.
func (p *spazio) scored(v *view, now time.Duration) bool {
	return v.fresh(now) || v.report != nil && p.hub.rules.policy == reserve.Allow
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
	normalised, err := reserve.NormalizeTo(nil, raw)
	if err != nil {
		return fwk.AsStatus(err)
	}
	for i := range scores {
		scores[i].Score = normalised[i]
	}
	return nil
}

// Reserve asks the node as it is now once more, and puts the pod in flight. The
// question and the entry are one step: the node is locked meanwhile.
func (p *spazio) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, name string) *fwk.Status {
	h := p.hub
	key := reserve.KeyOf(string(pod.UID))
	n := h.nodes.get(name)
	if n == nil {
		// The node's own event is late; nothing can have been reported of it.
		return p.reserved(pod, h.ledger.Reserve(name, key, podDemand, h.clock()))
	}
	n.mu.Lock()
	h.refreshLocked(n)
	v, now := n.view.Load(), h.now()
	if !p.exempt(pod) {
		if reason := h.rules.admitView(v, now); reason != reserve.Admitted {
			n.mu.Unlock()
			// Another node may have room for it.
			if c, err := readCycle(state); err == nil {
				c.refused.Store(true)
			}
			h.waiting.rise(1)
			h.metrics.lost(reason)
			return fwk.NewStatus(fwk.Unschedulable, fmt.Sprintf("node %s changed during scheduling: %s", name, reason))
		}
		h.observe(n, v, now)
	}
	err := h.ledger.Reserve(name, key, podDemand, h.clock())
	h.refreshLocked(n)
	n.mu.Unlock()
	return p.reserved(pod, err)
}

// observe records a granted reservation; n is locked.
func (h *Hub) observe(n *node, v *view, now time.Duration) {
	if !v.fresh(now) {
		return
	}
	h.metrics.age(now - v.arrived)
	if h.options.OnReserve != nil {
		h.options.OnReserve(n.name, v.signal, v.inflight)
	}
}

func (p *spazio) reserved(pod *v1.Pod, err error) *fwk.Status {
	if err != nil {
		return fwk.AsStatus(err)
	}
	p.hub.waiting.taken(pod.UID)
	return nil
}

// Unreserve takes the pod out of flight again. It may come without a Reserve.
func (p *spazio) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, name string) {
	if !p.hub.ledger.Unreserve(name, reserve.KeyOf(string(pod.UID))) {
		return
	}
	if n := p.hub.nodes.get(name); n != nil {
		p.hub.refresh(n)
	}
}

// PostBind warns the node's agent, which thus knows of the pod before the
// container runtime does.
func (p *spazio) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, name string) {
	key := reserve.KeyOf(string(pod.UID))
	p.hub.ledger.Confirm(key)
	p.hub.notify(name, key)
}

// signature is what the plugin's decisions depend on in a pod.
type signature struct {
	Demand float64
	Exempt bool
}

// SignPod lets pods that the plugin treats alike share a scheduling result;
// without it batching would be off for the whole profile.
func (p *spazio) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return []fwk.SignFragment{{Key: Name + ".Demand()", Value: signature{Demand: podDemand, Exempt: p.exempt(pod)}}}, nil
}
