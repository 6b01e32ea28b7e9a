package plugin

import (
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
)

const (
	// doubtsMost is the number of nodes surprised by a workload's pods within
	// doubtsSpan that makes the scheduler disbelieve its profile: one node may lie, or
	// be special.
	doubtsMost = 3
	doubtsSpan = 10 * time.Minute
)

// doubts are of a workload's profile: pods that were measured to take something else
// than their nodes were told.
type doubts struct {
	nodes []doubt
	// since is when the profile ceased to be believed; what was observed later is
	// believed again.
	since time.Time
}

// doubt is a node that was surprised, and when last.
type doubt struct {
	node string
	at   time.Time
}

// contradict says whether a profile is not to be believed.
func (d *doubts) contradict(p price) bool {
	return d != nil && !d.since.IsZero() && !p.observed.After(d.since)
}

// doubt notes that a node was surprised by one of the workload's pods, and says
// whether that makes its profile unbelievable.
func (w *workloads) doubt(of profile.Workload, node string, now time.Time) (dropped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.prices[of]
	d := w.doubts[of]
	if !known || d.contradict(p) {
		return false
	}
	if d == nil {
		d = &doubts{}
		if w.doubts == nil {
			w.doubts = make(map[profile.Workload]*doubts)
		}
		w.doubts[of] = d
	}
	d.nodes = slices.DeleteFunc(d.nodes, func(other doubt) bool { return other.node == node || now.Sub(other.at) >= doubtsSpan })
	d.nodes = append(d.nodes, doubt{node, now})
	if len(d.nodes) < doubtsMost {
		return false
	}
	d.nodes, d.since = nil, now
	return true
}

// news returns the surprises of a report that the one before does not tell of;
// reports repeat them, for any may be lost.
func news(r, before *agent.Report) []agent.Surprise {
	if before == nil || len(r.Surprises) == 0 {
		return r.Surprises
	}
	return slices.DeleteFunc(slices.Clone(r.Surprises), func(s agent.Surprise) bool {
		return slices.ContainsFunc(before.Surprises, func(old agent.Surprise) bool { return old.Pod == s.Pod })
	})
}

// surprised hears of a node's pods that take something else than it was told. A node
// is heard on its own pods alone. No node's mutex is held.
func (h *Hub) surprised(node string, list []agent.Surprise) {
	if len(list) == 0 || !h.rules.byDemand || h.profiling.off() {
		return
	}
	for _, s := range list {
		of, known := h.workloads.on(node, s.Pod, h.ledger)
		if !known || !h.toldOf(of).decides {
			continue
		}
		h.metrics.surprised(s)
		if h.workloads.doubt(of, node, h.clock()) {
			h.metrics.dropped.Inc()
			h.reprice(of)
		}
	}
}
