package plugin

import (
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/reserve"
)

// States of a pod in the plugin's eyes.
const (
	// PodNew has not been tried; PodWaiting was, and found no room; PodInFlight
	// was given to a node that has not yet reported it; PodCounted is in its
	// node's reports; PodEnded is terminal; PodPlaceholder holds room on its node; PodExempt
	// is none of the plugin's business.
	PodNew         = "new"
	PodWaiting     = "waiting"
	PodInFlight    = "in flight"
	PodCounted     = "counted"
	PodEnded       = "ended"
	PodPlaceholder = "holding room"
	PodExempt      = "exempt"
)

// Errors of Explain.
var (
	ErrUnknownPod = errors.New("no such pod")
	ErrNotStarted = errors.New("the plugin has not been started")
)

// Explanation is where a pod could go, and why not elsewhere.
type Explanation struct {
	// Pod is namespace/name.
	Pod string    `json:"pod"`
	UID types.UID `json:"uid"`
	// Profile is the pod's scheduler; Ours reports whether it enables the plugin here.
	Profile string `json:"profile"`
	Ours    bool   `json:"ours"`
	// State is one of the constants PodNew to PodExempt; Node is where the pod is
	// or goes.
	State string `json:"state"`
	Node  string `json:"node,omitempty"`
	// Unscheduled is the message of the pod's condition PodScheduled while that is
	// false: the whole scheduler's word on its last attempt, with what other
	// plugins refused it for, such as a taint.
	Unscheduled string `json:"unscheduled,omitempty"`
	// RoomSince is when the plugin alone first refused the pod a node while it waits,
	// Overdue reports whether it has waited for longer than maxWait, or did before it was
	// bound: nodes without room may take it then. OverdueSince is when that began,
	// while it waits.
	RoomSince    *time.Time `json:"roomSince,omitempty"`
	Overdue      bool       `json:"overdue,omitempty"`
	OverdueSince *time.Time `json:"overdueSince,omitempty"`
	// Buffer is the CapacityBuffer that asks for nodes for it while it waits for room, as
	// namespace/name, empty if none does.
	Buffer string `json:"buffer,omitempty"`
	// Steps are what has happened to it, in order.
	Steps []Step `json:"steps"`
	// Attempt is the last scheduling attempt, nil if none is remembered.
	Attempt *Attempt `json:"attempt,omitempty"`
	// Workload is what is known of what the pod takes; nil where profiles are off.
	Workload *WorkloadState `json:"workload,omitempty"`
	// Energy is what its workload's pods were measured to take; nil as long as no agent
	// reports it, and no profile ranks nodes by it.
	Energy *WorkloadEnergy `json:"energy,omitempty"`
	// Nodes are all nodes as they are now, by name.
	Nodes []NodeVerdict `json:"nodes"`
}

// Attempt sums up what a scheduling attempt saw of the nodes.
type Attempt struct {
	At time.Time `json:"at"`
	// Nodes were known, WithRoom of them admitted the pod; Refusals counts the
	// others.
	Nodes    int       `json:"nodes"`
	WithRoom int       `json:"withRoom"`
	Refusals []Refusal `json:"refusals,omitempty"`
	// Reserved is the node that the pod was put in flight to, with the avail and
	// the pods in flight as they were just before; empty if there was none.
	Reserved string  `json:"reserved,omitempty"`
	Avail    float64 `json:"avail,omitempty"`
	InFlight float64 `json:"inFlight,omitempty"`
}

// WorkloadState is what is known of what a workload's pods take.
type WorkloadState struct {
	// Workload is namespace/kind/name.
	Workload string `json:"workload"`
	// Source is profile, typical, for a workload of which nothing is known,
	// contradicted, for one whose pods were measured to take something else, or off,
	// for one whose profile is not to be looked at.
	Source string `json:"source"`
	// Decides reports whether decisions rest on it.
	Decides bool       `json:"decides,omitempty"`
	CPU     ShareState `json:"cpu"`
	Memory  ShareState `json:"memory"`
}

// ShareState is a mean and a standard deviation, in cores or bytes, and how far both
// are believed, from 0 to 1.
type ShareState struct {
	Amount     float64 `json:"amount"`
	SD         float64 `json:"sd"`
	Confidence float64 `json:"confidence"`
}

// NodeVerdict is a node as a pod would find it.
type NodeVerdict struct {
	NodeState
	// Score is the node's among those that admit the pod, 0 to 100, before the
	// scheduler weighs it with other plugins' and without the chance that decides
	// between near-ties; absent where the pod is refused. A profile that ignores the
	// room gives one to all.
	Score *int64 `json:"score,omitempty"`
	// ByProfile is what Reason would be if known pods were counted as what they
	// take; empty where nothing is known of the pod.
	ByProfile string `json:"byProfile,omitempty"`
	// Takes is what the pod would take of each resource in typical pods, and Binding
	// which of them has the least left beside it; absent where nothing is known of it
	// or the node does not count in resources.
	Takes   map[string]float64 `json:"takes,omitempty"`
	Binding string             `json:"binding,omitempty"`
}

// Explain returns what the plugin knows of a pod, given as namespace/name or as
// UID. Errors are ErrUnknownPod and ErrNotStarted, wrapped.
func (h *Hub) Explain(name string) (Explanation, error) {
	if h.Addr() == nil {
		return Explanation{}, fmt.Errorf("plugin: %w", ErrNotStarted)
	}
	pod, err := h.findPod(name)
	if err != nil {
		return Explanation{}, err
	}
	h.mu.Lock()
	profile := h.profiles[pod.Spec.SchedulerName]
	h.mu.Unlock()
	e := Explanation{
		Pod: pod.Namespace + "/" + pod.Name, UID: pod.UID, Profile: pod.Spec.SchedulerName, Ours: profile != nil,
		Unscheduled: unscheduled(pod), Attempt: h.lastAttempt(pod.UID),
	}
	e.State, e.Node = h.podState(pod, profile)
	e.Steps = h.timeline(pod)
	e.wait(h.waiting.since(pod.UID), &h.rules.overdue, h.clock())
	if h.options.Buffer != nil && e.RoomSince != nil {
		e.Buffer = h.options.Buffer(pod)
	}
	known, _ := h.ledger.Pod(reserve.KeyOf(string(pod.UID)))
	e.Overdue = e.Overdue || known.Overdue
	if profile == nil {
		profile = &spazio{hub: h}
	}
	e.Nodes = profile.verdicts(pod)
	h.explainWorkload(&e, pod)
	h.explainEnergy(&e, pod)
	return e, nil
}

// explainWorkload fills in what is known of the pod, and what that would change.
func (h *Hub) explainWorkload(e *Explanation, pod *v1.Pod) {
	if h.profiling.off() {
		return
	}
	k := h.knowledge(pod)
	e.Workload = &WorkloadState{
		Workload: h.workloads.identify(pod).String(), Source: k.source, Decides: h.rules.byDemand && k.decides, CPU: ShareState(k.demand.CPU), Memory: ShareState(k.demand.Memory),
	}
	if k.source != sourceProfile {
		return
	}
	demand, at := h.demand(k), h.moment()
	for i := range e.Nodes {
		if n := h.nodes.get(e.Nodes[i].Node); n != nil {
			v := n.view.Load()
			e.Nodes[i].ByProfile = h.rules.byProfile(v, demand, at).String()
			e.Nodes[i].share(v.profiled(&h.rules), demand)
		}
	}
}

// share fills in what a pod of a demand takes of the node.
func (n *NodeVerdict) share(v reserve.View, d reserve.Demand) {
	shares, binding, ok := v.Shares(d)
	if !ok {
		return
	}
	n.Binding, n.Takes = binding.String(), make(map[string]float64, len(shares))
	for i, share := range shares {
		if share > 0 {
			n.Takes[reserve.Resource(i).String()] = share
		}
	}
}

// wait fills in since when the pod waits for room, if it does.
func (e *Explanation) wait(since time.Time, t *reserve.OverdueAdmission, now time.Time) {
	if since.IsZero() {
		return
	}
	e.RoomSince = &since
	if t.Overdue(now.Sub(since)) {
		late := since.Add(t.WithDefaults().MaxWait)
		e.Overdue, e.OverdueSince = true, &late
	}
}

// unscheduled is empty for a pod that has a node or was not tried.
func unscheduled(pod *v1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// findPod needs a started Hub.
func (h *Hub) findPod(name string) (*v1.Pod, error) {
	if namespace, base, err := cache.SplitMetaNamespaceKey(name); err == nil && namespace != "" {
		if pod, err := h.pods.Pods(namespace).Get(base); err == nil {
			return pod, nil
		}
	} else if pods, err := h.pods.List(labels.Everything()); err == nil {
		for _, pod := range pods {
			if string(pod.UID) == name {
				return pod, nil
			}
		}
	}
	return nil, fmt.Errorf("plugin: pod %q: %w", name, ErrUnknownPod)
}

func (h *Hub) podState(pod *v1.Pod, profile *spazio) (state, node string) {
	known, ok := h.ledger.Pod(reserve.KeyOf(string(pod.UID)))
	switch {
	case isTerminal(pod):
		return PodEnded, pod.Spec.NodeName
	case ok && !known.Confirmed:
		return PodInFlight, known.Node
	case ok:
		return PodCounted, known.Node
	case pod.Spec.NodeName != "" && h.Placeholder(pod.UID):
		return PodPlaceholder, pod.Spec.NodeName
	case pod.Spec.NodeName != "":
		return PodExempt, pod.Spec.NodeName
	case profile == nil || profile.exempt(pod):
		return PodExempt, ""
	case h.waiting.find(pod.UID) != nil:
		return PodWaiting, ""
	}
	return PodNew, ""
}

func (h *Hub) lastAttempt(uid types.UID) *Attempt {
	if a := h.waiting.find(uid); a != nil {
		return a.saw.Load().export()
	}
	return h.placed.find(uid)
}

func (s *attemptSummary) export() *Attempt {
	if s == nil {
		return nil
	}
	return &Attempt{At: s.at, Nodes: s.nodes, WithRoom: s.open, Refusals: s.refusals}
}

// verdicts returns all nodes as a pod finds them, those that admit it with their score.
func (p *spazio) verdicts(pod *v1.Pod) []NodeVerdict {
	h := p.hub
	d, at := h.nodes.list(), h.moment()
	c := &cycle{directory: d, at: at, asks: h.kindOf(pod).asks}
	if h.consumption.on.Load() {
		c.weighing = p.thrift.weigh(d, at, h.cores(pod))
	}
	if p.scoreOnly {
		c.scoreOnly(&h.rules)
	}
	list := make([]NodeVerdict, len(d.nodes))
	var ranked []*NodeVerdict
	var raw []float64
	for i, n := range d.nodes {
		v, verdict := n.view.Load(), &list[i]
		verdict.NodeState = h.nodeState(n, v, at)
		reason := h.rules.decide(v, c.asks, at)
		verdict.Reason = reason.String()
		verdict.rank(v, &c.weighing, at)
		if reason == reserve.Admitted || p.scoreOnly {
			ranked, raw = append(ranked, verdict), append(raw, c.score(v, 0, &h.rules, p.ranking))
		}
	}
	scores := reserve.NormalizeTo(nil, raw)
	for i, n := range ranked {
		n.Score = &scores[i]
	}
	return list
}

// placedMost is how many placed pods are remembered, for those who ask where a
// pod went: a few minutes' worth in a busy cluster.
const placedMost = 1024

// placed remembers the attempts of the pods placed last. Safe for concurrent
// use; the zero value is ready.
type placed struct {
	mu    sync.Mutex
	byUID map[types.UID]*Attempt
	order ring[types.UID]
}

func (p *placed) add(uid types.UID, a *Attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byUID == nil {
		p.byUID = make(map[types.UID]*Attempt)
	}
	if _, again := p.byUID[uid]; !again {
		if oldest, full := p.order.push(uid, placedMost); full {
			delete(p.byUID, oldest)
		}
	}
	p.byUID[uid] = a
}

func (p *placed) find(uid types.UID) *Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byUID[uid]
}
