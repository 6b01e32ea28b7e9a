package plugin

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// consumption holds what workloads' pods take, as agents report it. Safe for concurrent use.
type consumption struct {
	// on is set once a profile ranks by energy or an agent has reported what pods take.
	on atomic.Bool

	mu   sync.Mutex
	book *energy.Book
}

// observe records what a pod of a workload took. Observations that are invalid, or older than what is
// known of the pod, are ignored.
func (c *consumption) observe(of profile.Workload, o energy.Observation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.book.Observe(of.String(), o)
}

// estimate returns what is known about a workload.
func (c *consumption) estimate(of profile.Workload) energy.Estimate {
	name := of.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.book.Estimate(name)
}

// typical returns the estimate for a pod of no particular workload.
func (c *consumption) typical() energy.Estimate { return c.estimate(profile.Workload{}) }

// largest returns the workloads whose pods take most now, the largest first.
func (c *consumption) largest(most int, now time.Time) []energy.WorkloadEstimate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.book.LargestTo([]energy.WorkloadEstimate{}, most, now)
}

// longestSpan is the longest time that one report's figures may stand for, a few of an agent's
// periods. Longer gaps in a node's reports are not filled in.
const longestSpan = 15 * time.Second

// consumed records what a report's pods have taken lately; the mutex of n is held. A node's
// figures count only for its own pods, and no pod counts for more than the node has.
func (h *Hub) consumed(n *node, r *agent.Report, sampled time.Duration) {
	if len(r.PodCores) == 0 {
		return
	}
	h.consumption.on.Store(true)
	var span time.Duration
	if since := sampled - n.consumed; n.consumed > 0 && since > 0 && since <= longestSpan {
		span = since
	}
	n.consumed = sampled
	mostCores, mostWatts := float64(energy.MaxCores), float64(energy.MaxWatts)
	if cores := n.cores.Load(); cores > 0 {
		mostCores = float64(cores)
	}
	if r.Power.Known() {
		mostWatts = r.Power.Watts
	}
	for i, key := range r.Pods[:min(len(r.Pods), len(r.PodCores), len(r.PodWatts))] {
		if r.PodCores[i] == 0 { // not measured
			continue
		}
		of, known := h.workloads.workloadOf(key)
		if pod, there := h.ledger.Pod(key); !known || !there || pod.Node != n.name {
			continue
		}
		h.consumption.observe(of, energy.Observation{
			Pod: uint64(key), At: h.start.Add(sampled), Metered: r.Power.Known(),
			Span: span, Cores: math.Min(float64(r.PodCores[i]), mostCores), Watts: math.Min(float64(r.PodWatts[i]), mostWatts),
		})
	}
}

// vacant reports whether a node's power is known and its report lists no pod of a workload other
// than DaemonSets, which every node runs.
func (h *Hub) vacant(r *agent.Report) bool {
	return r.Power.Known() && !slices.ContainsFunc(r.Pods, func(key reserve.PodKey) bool {
		of, known := h.workloads.workloadOf(key)
		return known && of.Kind != "DaemonSet"
	})
}

// coresOf returns how many cores a pod is expected to keep busy: its profile's figure if
// decisions rest on that, otherwise what its workload's pods were measured to take.
func (h *Hub) coresOf(of profile.Workload, k knowledge) float64 {
	if cores := h.asks(k).Cores; cores > 0 {
		return cores
	}
	return h.consumption.estimate(of).Cores
}

// workloadsMost is how many workloads are listed.
const workloadsMost = 100

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
