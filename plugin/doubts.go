package plugin

import (
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/profile"
)

// addOutlier notes that a node measured one of a workload's pods to take something else than was
// predicted, and reports whether its profile is distrusted from now on.
func (w *workloads) addOutlier(of profile.Workload, node int, now time.Duration) (distrusted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.estimates[of]
	if !known || w.isDistrusted(of, p) {
		return false
	}
	if w.trust == nil {
		w.trust = make(map[profile.Workload]*placement.Trust)
	}
	if w.trust[of] == nil {
		w.trust[of] = new(placement.Trust)
	}
	return w.trust[of].AddOutlier(node, now)
}

// isDistrusted reports whether a workload's profile was contradicted by enough nodes since it was
// observed. The mutex is held.
func (w *workloads) isDistrusted(of profile.Workload, p estimate) bool {
	t := w.trust[of]
	return t != nil && t.IsDistrusted(p.observed.Sub(w.start))
}

// news returns the mispredictions of a report that the one before does not tell of;
// reports repeat them, for any may be lost.
func news(r, before *agent.Report) []agent.Misprediction {
	if before == nil || len(r.Mispredictions) == 0 {
		return r.Mispredictions
	}
	return slices.DeleteFunc(slices.Clone(r.Mispredictions), func(s agent.Misprediction) bool {
		return slices.ContainsFunc(before.Mispredictions, func(old agent.Misprediction) bool { return old.Pod == s.Pod })
	})
}

// mispredicted takes in a node's pods that were measured to take something else than was predicted. A
// node's word counts for its own pods alone. No node's mutex is held.
func (h *Hub) mispredicted(n *node, list []agent.Misprediction) {
	if len(list) == 0 || !h.rules.byDemand || h.profiling.off() {
		return
	}
	for _, s := range list {
		of, known := h.workloads.on(n.name, s.Pod, h.ledger)
		if !known || !h.knowledgeOf(of).decides {
			continue
		}
		h.metrics.mispredicted(s)
		if h.workloads.addOutlier(of, n.id, h.now()) {
			h.metrics.dropped.Inc()
			h.updateDemands(of)
		}
	}
}
