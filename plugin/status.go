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

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
	"github.com/spazio-scheduler/spazio/reserve"
)

// States of a node's signal.
const (
	signalFresh   = "fresh"
	signalStale   = "stale"
	signalMissing = "missing"
)

func (v *view) state(now time.Duration) string {
	switch {
	case v.report == nil:
		return signalMissing
	case v.fresh(now):
		return signalFresh
	}
	return signalStale
}

// NodeState is one node as the scheduler sees it; capacities are in pods.
type NodeState struct {
	Node string `json:"node"`
	// Signal is fresh, stale or missing; Age is that of the report's newest sample
	// by the scheduler's clock, 0 if missing.
	Signal string        `json:"signal"`
	Age    time.Duration `json:"ageNanos"`
	// Avail, Allowance, K, Limiting and Saturated are the report's; Running is n,
	// the pods it counts.
	Avail     float64 `json:"avail"`
	Allowance float64 `json:"allowance"`
	Running   int     `json:"running"`
	// Known is how many of the Running pods are of workloads whose profiles are known; the others count
	// as typical pods. Only Handler adds it, and only if profiles are on.
	Known     *int    `json:"known,omitempty"`
	K         float64 `json:"k"`
	Limiting  string  `json:"limiting,omitempty"`
	Saturated bool    `json:"saturated"`
	// Assumed reports whether Avail, and so Free, rests on a prior: what a pod takes of
	// the limiting resource was not measured.
	Assumed bool `json:"assumed,omitempty"`
	// InFlight is the demand reserved and not yet reported, Stalled the part of it
	// that waits for something other than the node, such as an image; Held is the room
	// that placeholder pods keep free; Free is Avail less InFlight and Held, Slots the pods that
	// would be admitted now.
	InFlight float64 `json:"inFlight"`
	Stalled  float64 `json:"stalled,omitempty"`
	Held     float64 `json:"held,omitempty"`
	Free     float64 `json:"free"`
	Slots    int     `json:"slots"`
	// Overdue counts the pods on it that were bound without room, for they had
	// waited for maxWait; OverduePlaces is how many it would take besides.
	Overdue       int `json:"overdue,omitempty"`
	OverduePlaces int `json:"overduePlaces,omitempty"`
	// Cores and Bytes are what is left of the node's own cores and bytes beside the pods
	// that run and those in flight; absent where the node does not count in them. Below 0
	// cores tasks wait for one another.
	Cores *float64 `json:"cores,omitempty"`
	Bytes *float64 `json:"bytes,omitempty"`
	// Energy is what is known of its power; absent where nothing is.
	Energy *NodeEnergy `json:"energy,omitempty"`
	// Refused is its last report if that did not count.
	Refused *RefusedReport `json:"refused,omitempty"`
	// Reason says why the node takes no pod, or "admitted".
	Reason string      `json:"reason"`
	Flags  agent.Flags `json:"flags"`
	// Channels are the report's: the usage in [0,1] and the estimates behind
	// Avail.
	Channels []ChannelState `json:"channels,omitempty"`
}

// ChannelState is one resource of a node, as shares of it.
type ChannelState struct {
	Name  string  `json:"name"`
	Usage float64 `json:"usage"`
	// Capacity is C, the headroom without pods, at most 1, Cost c, what one pod takes,
	// CostSD the standard deviation of Cost. Assumed reports whether Cost is a prior, which
	// no pod was measured for.
	Capacity float64 `json:"capacity"`
	Cost     float64 `json:"cost"`
	CostSD   float64 `json:"costSD"`
	Assumed  bool    `json:"assumed,omitempty"`
	// Room is what the pods that run leave; it may be negative.
	Room float64 `json:"room"`
}

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

// Snapshot returns all nodes by name.
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

// Node returns one node, if the scheduler knows it.
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
	s.Avail, s.Allowance, s.Running, s.K = r.Avail, r.Allowance, len(r.Absorbed), r.K
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
	for _, key := range v.report.Absorbed {
		if of, there := h.workloads.workloadOf(key); there && h.knowledgeOf(of).source == SourceProfile {
			known++
		}
	}
	return &known
}

// spare is what is left of a resource, nil where the node does not count in it.
func (v *view) spare(i reserve.Resource) *float64 {
	if !(v.Signal.Rooms[i].Unit > 0) {
		return nil
	}
	left := v.Spare(i)
	return &left
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

// Status is what Handler answers.
type Status struct {
	Nodes   []NodeState    `json:"nodes"`
	Ledger  reserve.Census `json:"ledger"`
	Waiting int            `json:"waiting"`
	// Energy is absent as long as no agent reports what pods take, and no profile ranks
	// nodes by it.
	Energy *EnergyStatus `json:"energy,omitempty"`
}

// DebugPath is where a scheduler's HTTP server is expected to mount Handler.
const DebugPath = "/debug/spazio"

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
			answerOr(w, r, e, err)
		case node != "":
			e, err := h.ExplainNode(node)
			answerOr(w, r, e, err)
		default:
			answer(w, r, h.status())
		}
	})
}

// answerOr answers with what there is, or with the reason why there is nothing.
func answerOr(w http.ResponseWriter, r *http.Request, what any, err error) {
	switch {
	case err == nil:
		answer(w, r, what)
	case errors.Is(err, ErrUnknownPod) || errors.Is(err, ErrUnknownNode):
		http.Error(w, err.Error(), http.StatusNotFound)
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func answer(w http.ResponseWriter, r *http.Request, what any) {
	if err := transport.AnswerJSON(w, what); err != nil {
		klog.FromContext(r.Context()).Error(err, "Answer cannot be written as JSON", "path", r.URL.Path)
	}
}

// NodeEnergy is the power that a node reports. Watts, Marginal and Busy are as in its report,
// without the pods in flight.
type NodeEnergy struct {
	// Quality is the source of the power figure: modelled, platform, shared or measured.
	Quality string  `json:"quality"`
	Watts   float64 `json:"watts"`
	SD      float64 `json:"sd"`
	Max     float64 `json:"max"`
	Idle    float64 `json:"idle"`
	// Marginal is the watts that one more busy core takes, Busy the number of busy cores.
	Marginal float64 `json:"marginal"`
	Busy     float64 `json:"busy"`
	// InFlightCores is how many cores the node's pods in flight are expected to keep busy.
	InFlightCores float64 `json:"inFlightCores"`
	// Joules is the energy that the node has taken since its agent started.
	Joules float64 `json:"joules"`
	Flags  string  `json:"flags,omitempty"`
	// Goodness is how good the node is relative to the fleet's median, from ¼ to 4, for the pod
	// that is explained or else for a typical one. It is absent if the report no longer counts.
	Goodness *float64 `json:"goodness,omitempty"`
}

// EnergyStatus is what is known about energy besides the nodes' power.
type EnergyStatus struct {
	// Objective and Cores are those that the nodes' Goodness is computed with: the objective of
	// the first profile that ranks by energy, and the cores of a typical pod.
	Objective string  `json:"objective"`
	Cores     float64 `json:"cores"`
	// Workloads lists the workloads whose pods take most, at most 100, the largest first.
	Workloads []WorkloadEnergy `json:"workloads"`
}

// energy returns the power in the node's report, or nil if it has none.
func (v *view) energy() *NodeEnergy {
	if v.report == nil || !v.report.Power.Known() {
		return nil
	}
	p := &v.report.Power
	return &NodeEnergy{
		Quality: p.Quality.String(), Watts: p.Watts, SD: p.SD, Max: p.Max, Idle: p.Idle, Marginal: p.Marginal, Busy: p.Busy,
		InFlightCores: v.Flight.Cores, Joules: p.Joules, Flags: p.Flags.String(),
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

// ErrUnknownNode is the error of ExplainNode for a node that the scheduler does not know.
var ErrUnknownNode = errors.New("no such node")

// NodeExplanation is why a node has the room that it has, and what is on it. A plain
// value.
type NodeExplanation struct {
	NodeState
	// Pods are those that are bound to the node and have not ended, in order of their
	// creation, whoever scheduled them.
	Pods []NodePod `json:"pods,omitempty"`
}

// NodePod is a pod on a node.
type NodePod struct {
	// Pod is namespace/name.
	Pod string    `json:"pod"`
	UID types.UID `json:"uid"`
	// Profile is the pod's scheduler, State one of the constants PodInFlight to PodExempt.
	Profile string    `json:"profile"`
	State   string    `json:"state"`
	Created time.Time `json:"created"`
	// Phase is the API's.
	Phase v1.PodPhase `json:"phase"`
	// Source is where what is known of it comes from, as in WorkloadState; empty if profiles are off.
	Source string `json:"source,omitempty"`
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
		if pod.Spec.NodeName != name || podstate.IsTerminal(pod) {
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
