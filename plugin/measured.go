package plugin

import (
	"maps"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Labels by which the scheduler shows a cluster's autoscaler what it measures. They do not change
// which pods the plugin admits.
const (
	// FullLabel marks nodes that refuse pods while pods wait.
	FullLabel = "spazio-scheduler.github.io/full"
	// ProtectedLabel marks nodes that are busy by measurement and idle by requests.
	ProtectedLabel = "spazio-scheduler.github.io/protected"
)

// RoomWaiter is a pod that waits for measured room alone: some node would take it if it had room.
// A plain value.
type RoomWaiter struct {
	// Pod is the scheduler's own and must not be changed.
	Pod      *v1.Pod
	Workload profile.Workload
	// Since is when the plugin first refused it such a node.
	Since time.Time
	// Cores and Bytes are what it is expected to take, with the plugin's caution: by its workload's
	// profile, and as far as that is not known what nodes measure a pod to take. They are 0 if no
	// node has measured it.
	Cores, Bytes float64
}

// MeasuredNode is what a node measures of itself. A plain value.
type MeasuredNode struct {
	Name string
	// HasReported reports whether its agent ever has, IsMeasured whether CPU and Memory are current.
	HasReported, IsMeasured bool
	// Refuses reports whether it takes no typical pod now.
	Refuses bool
	// CPU and Memory are the shares in use, 1 for all of it, and TasksWait reports whether tasks wait
	// for a core. They are only set if IsMeasured.
	CPU, Memory float64
	TasksWait   bool
	// Signal is the newest report's, as [reserve.Account.Cap] limits it; if there was none, only its
	// Cores and Pods are set, from the API. Flight is the pods that were reserved or bound on the
	// node and that no report lists yet.
	Signal reserve.Signal
	Flight reserve.Flight
}

// Demand returns what decisions assume that a pod takes: what its workload's profile states, or a
// typical pod.
func (h *Hub) Demand(pod *v1.Pod) reserve.Demand { return h.kindOf(pod).asks }

// IsLeading reports whether this scheduler is the active one of several.
func (h *Hub) IsLeading() bool { return h.options.Leading() }

// WaitingForRoom returns the pods that wait for measured room alone, in any order.
func (h *Hub) WaitingForRoom() []RoomWaiter {
	if h.Addr() == nil {
		return nil
	}
	waiters := h.waiting.forRoom()
	if len(waiters) == 0 {
		return nil
	}
	typical, caution := h.typicalPod(), h.rules.admit.WithDefaults().Caution
	for i := range waiters {
		w := &waiters[i]
		w.Workload = h.workloads.identify(w.Pod)
		d := h.demand(h.knowledgeOf(w.Workload))
		takes := func(r reserve.Resource) float64 {
			return d.Typical[r]*typical[r] + d.Amount[r] + caution*math.Sqrt(d.Var[r])
		}
		w.Cores, w.Bytes = takes(reserve.CPU), takes(reserve.Memory)
	}
	return waiters
}

// forRoom returns the pods that wait for room and since when.
func (w *waiting) forRoom() []RoomWaiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]RoomWaiter, 0, w.wanting)
	for _, p := range w.pods {
		if !p.since.IsZero() {
			list = append(list, RoomWaiter{Pod: p.pod, Since: p.since})
		}
	}
	return list
}

// typicalPod returns the cores and bytes that a pod takes: the median of what nodes with a current
// report state, 0 if none does.
func (h *Hub) typicalPod() (typical [reserve.Resources]float64) {
	var costs [reserve.Resources][]float64
	now := h.moment().Now
	for _, n := range h.nodes.list().nodes {
		v := n.view.Load()
		if v.report == nil || !v.fresh(now) {
			continue
		}
		for i := range v.report.Channels {
			c := &v.report.Channels[i]
			if r, ok := resourceOf(c.Name); ok && c.Unit > 0 {
				costs[r] = append(costs[r], c.Cost/c.Unit)
			}
		}
	}
	for r, all := range costs {
		if len(all) > 0 {
			slices.Sort(all)
			typical[r] = all[len(all)/2]
		}
	}
	return typical
}

// resourceOf returns the resource that a channel measures.
func resourceOf(channel string) (reserve.Resource, bool) {
	switch channel {
	case agent.CPU:
		return reserve.CPU, true
	case agent.Memory:
		return reserve.Memory, true
	}
	return 0, false
}

// MeasuredNodes returns every node that the scheduler knows, sorted by name; nil before New or
// Start.
func (h *Hub) MeasuredNodes() []MeasuredNode {
	if h.Addr() == nil {
		return nil
	}
	nodes, at := h.nodes.list().nodes, h.moment()
	list := make([]MeasuredNode, len(nodes))
	for i, n := range nodes {
		v := n.view.Load()
		m := MeasuredNode{Name: n.name, HasReported: v.report != nil, Refuses: h.rules.decide(v, podDemand, at) != reserve.Admitted, Signal: v.Signal, Flight: v.Flight}
		if m.HasReported && v.fresh(at.Now) {
			m.measure(v.report)
		}
		list[i] = m
	}
	return list
}

// measure fills in the shares in use if the report has both.
func (m *MeasuredNode) measure(r *agent.Report) {
	var measured [reserve.Resources]bool
	for i := range r.Channels {
		c := &r.Channels[i]
		of, ok := resourceOf(c.Name)
		if !ok {
			continue
		}
		measured[of] = true
		switch {
		case of == reserve.Memory:
			m.Memory = c.Usage
		case r.Flags.NoPressure:
			m.CPU = c.Usage
		default: // half of the channel is tasks that wait while all cores are busy
			m.CPU, m.TasksWait = min(2*c.Usage, 1), c.Usage > .5
		}
	}
	m.IsMeasured = measured[reserve.CPU] && measured[reserve.Memory]
}

// onlyMarksDiffer reports whether an update of a node changed FullLabel or ProtectedLabel, and nothing
// else that wakes pods.
func onlyMarksDiffer(before, after *v1.Node) bool {
	a, b := before.Labels, after.Labels
	if a[FullLabel] == b[FullLabel] && a[ProtectedLabel] == b[ProtectedLabel] {
		return false
	}
	return isIncluded(a, b) && isIncluded(b, a) && before.Spec.Unschedulable == after.Spec.Unschedulable &&
		slices.EqualFunc(before.Spec.Taints, after.Spec.Taints, func(a, b v1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }) &&
		maps.EqualFunc(before.Status.Allocatable, after.Status.Allocatable, func(a, b resource.Quantity) bool { return a.Equal(b) })
}

// isIncluded reports whether others have all of labels, except FullLabel and ProtectedLabel.
func isIncluded(labels, others map[string]string) bool {
	for key, value := range labels {
		if other, is := others[key]; key != FullLabel && key != ProtectedLabel && (!is || other != value) {
			return false
		}
	}
	return true
}
