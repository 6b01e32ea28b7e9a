package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/reserve"
)

// AwaitFresh returns when so many nodes at least have reported of late, or ctx's error.
func (h *Hub) AwaitFresh(ctx context.Context, nodes int) error {
	ticker := time.NewTicker(freshLook)
	defer ticker.Stop()
	for {
		fresh := 0
		for _, n := range h.Snapshot() {
			if n.Signal == signalFresh {
				fresh++
			}
		}
		if fresh >= nodes {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// freshLook is how often AwaitFresh looks.
const freshLook = 100 * time.Millisecond

// Snapshot returns the state of every node that the scheduler knows, sorted by name; nil before
// New or Start.
func (h *Hub) Snapshot() []NodeState {
	if h.Addr() == nil {
		return nil
	}
	nodes, at := h.nodes.list().nodes, h.moment()
	states := make([]NodeState, len(nodes))
	for i, n := range nodes {
		states[i] = h.nodeState(n, n.view.Load(), at)
	}
	return states
}

// Node returns the state of the node of a name; false if the scheduler does not know it.
func (h *Hub) Node(name string) (NodeState, bool) {
	n := h.nodes.get(name)
	if n == nil {
		return NodeState{}, false
	}
	return h.nodeState(n, n.view.Load(), h.moment()), true
}

func (h *Hub) nodeState(n *node, v *view, at reserve.Moment) NodeState {
	s := NodeState{
		Node: n.name, Signal: v.state(at.Now), InFlight: v.Flight.Demand, Stalled: v.Flight.Stalled, Held: v.Flight.Held,
		Slots: h.rules.slotsBeside(v, v.Flight, podDemand, h.rules.admit, at), Reason: h.rules.decide(v, podDemand, at).String(),
		Overdue: n.account.Overdue(), OverduePlaces: h.rules.places(n, v, podDemand, at),
	}
	if refused := n.refused.Load(); refused != nil && (v.report == nil || refused.At.Sub(h.start) >= v.sampled) {
		s.Refused = refused
	}
	if v.report == nil {
		return s
	}
	r := v.report
	s.Age, s.Free = at.Now-v.sampled, v.free()
	s.Avail, s.Allowance, s.Running, s.K = r.Avail, r.Allowance, len(r.Pods), r.K
	s.Saturated, s.Limiting, s.Flags = r.Saturated, r.Limiting, r.Flags
	s.Energy = v.energy()
	s.Cores, s.Bytes = v.spare(reserve.CPU), v.spare(reserve.Memory)
	for _, c := range r.Channels {
		assumed := c.Cost > 0 && c.Assumed()
		s.Channels = append(s.Channels, ChannelState{
			Name: c.Name, Usage: c.Usage, Capacity: min(c.Capacity, 1), Cost: c.Cost, CostSD: c.CostSD, Assumed: assumed, Room: c.Room,
		})
		s.Assumed = s.Assumed || assumed && c.Name == r.Limiting
	}
	return s
}

// knownPods counts the pods that a node reports and whose workloads' profiles are known, nil if it has
// not reported or profiles are off.
func (h *Hub) knownPods(v *view) *int {
	if v.report == nil || h.profiling.off() {
		return nil
	}
	known := 0
	for _, key := range v.report.Pods {
		if of, there := h.workloads.workloadOf(key); there && h.knowledgeOf(of).source == SourceProfile {
			known++
		}
	}
	return &known
}

// Ledger counts the pods that the Hub keeps track of.
func (h *Hub) Ledger() reserve.Census {
	h.mu.Lock()
	ledger := h.ledger
	h.mu.Unlock()
	return ledger.Census()
}

// Waiting returns the number of pods that were tried and wait for room.
func (h *Hub) Waiting() int {
	all, _ := h.waiting.count()
	return all
}

// Handler answers GET with a Status as JSON, and GET ?pod=NAMESPACE/NAME (or
// UID) with the pod's Explanation, GET ?node=NAME with the node's NodeExplanation, or 404
// for a pod or a node that does not exist.
func (h *Hub) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		query := r.URL.Query()
		switch pod, node := query.Get("pod"), query.Get("node"); {
		case pod != "":
			e, err := h.Explain(pod)
			answer(w, r, e, err)
		case node != "":
			e, err := h.ExplainNode(node)
			answer(w, r, e, err)
		default:
			answer(w, r, h.status(), nil)
		}
	})
}

// answer answers with what there is, or with the reason why there is nothing.
func answer(w http.ResponseWriter, r *http.Request, what any, err error) {
	switch {
	case errors.Is(err, ErrUnknownPod) || errors.Is(err, ErrUnknownNode):
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if err := transport.AnswerJSON(w, what); err != nil {
		klog.FromContext(r.Context()).Error(err, "Answer cannot be written as JSON", "path", r.URL.Path)
	}
}

// setGoodness sets a node's Goodness.
func (n *NodeState) setGoodness(v *view, r *energy.Ranking, now time.Duration) {
	if n.Energy == nil || !v.fresh(now) {
		return
	}
	if g := v.goodness(r, now); !math.IsNaN(g) {
		n.Energy.Goodness = &g
	}
}

// status returns what Handler serves.
func (h *Hub) status() Status {
	s := Status{Ledger: h.Ledger(), Waiting: h.Waiting()}
	if h.Addr() == nil {
		return s
	}
	d, at := h.nodes.list(), h.moment()
	var ranking energy.Ranking
	if h.consumption.on.Load() {
		by := h.energyRanker()
		ranking = d.energy(by, h.consumption.typical().Cores, at.Now)
		s.Energy = &EnergyStatus{Objective: by.Objective.String(), Cores: ranking.Cores, Workloads: h.consumption.largest(workloadsMost, h.clock())}
	}
	s.Nodes = make([]NodeState, len(d.nodes))
	for i, n := range d.nodes {
		v := n.view.Load()
		s.Nodes[i] = h.nodeState(n, v, at)
		s.Nodes[i].Known = h.knownPods(v)
		s.Nodes[i].setGoodness(v, &ranking, at.Now)
	}
	return s
}

// ExplainNode returns what the plugin knows of a node, in a time that grows with the pods of
// the cluster: it is for people. Errors are ErrUnknownNode and ErrNotStarted, wrapped.
func (h *Hub) ExplainNode(name string) (NodeExplanation, error) {
	if h.Addr() == nil {
		return NodeExplanation{}, fmt.Errorf("plugin: %w", ErrNotStarted)
	}
	state, known := h.Node(name)
	if !known {
		return NodeExplanation{}, fmt.Errorf("plugin: node %q: %w", name, ErrUnknownNode)
	}
	e := NodeExplanation{NodeState: state}
	for _, pod := range h.Pods() {
		if pod.Spec.NodeName != name || objects.IsTerminal(pod) {
			continue
		}
		state, _ := h.podState(pod, h.profileOf(pod))
		p := NodePod{
			Pod: pod.Namespace + "/" + pod.Name, UID: pod.UID, Profile: pod.Spec.SchedulerName, State: state,
			Created: pod.CreationTimestamp.Time, Phase: pod.Status.Phase,
		}
		if !h.profiling.off() {
			p.Source = h.knowledge(pod).source
		}
		e.Pods = append(e.Pods, p)
	}
	slices.SortFunc(e.Pods, func(a, b NodePod) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Pod, b.Pod))
	})
	return e, nil
}
