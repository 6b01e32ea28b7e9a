package plugin

import (
	"maps"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/energy"
)

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

// workloadsMost is how many workloads are listed.
const workloadsMost = 100

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

// energyRanker returns that of the first profile that ranks by energy.
func (h *Hub) energyRanker() *energy.Ranker {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(h.profiles)) {
		if p := h.profiles[name]; p.ranking.Energy > 0 {
			return &p.energy
		}
	}
	return new(energy.Ranker)
}

// explainEnergy adds what is known about the energy that the pod takes.
func (h *Hub) explainEnergy(e *Explanation, pod *v1.Pod) {
	if !h.consumption.on.Load() {
		return
	}
	of := h.workloads.identify(pod)
	w := workloadEnergy(of.String(), h.consumption.estimate(of))
	e.Energy = &w
}

// measuredWatts sets the metric of what pods take, by workload. It deletes the series of
// workloads that are no longer listed only after it has set the others, so that the metric is
// never empty meanwhile.
func (h *Hub) measuredWatts() {
	now := make(map[string]struct{})
	for _, w := range h.consumption.largest(workloadsMost, h.clock()) {
		h.metrics.watts.WithLabelValues(w.Workload).Set(w.Watts)
		now[w.Workload] = struct{}{}
	}
	for workload := range h.labelled {
		if _, still := now[workload]; !still {
			h.metrics.watts.DeleteLabelValues(workload)
		}
	}
	h.labelled = now
}
