package plugin

import (
	"encoding/json"
	"net/http"
	"time"

	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/agent"
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
	// Signal is fresh, stale or missing; Age is the report's by the scheduler's
	// clock, 0 if missing.
	Signal string        `json:"signal"`
	Age    time.Duration `json:"ageNanos"`
	// Avail, Allowance, K, Limiting and Saturated are the report's; Running is n,
	// the pods it counts.
	Avail     float64 `json:"avail"`
	Allowance float64 `json:"allowance"`
	Running   int     `json:"running"`
	K         float64 `json:"k"`
	Limiting  string  `json:"limiting,omitempty"`
	Saturated bool    `json:"saturated"`
	// InFlight is the demand reserved and not yet reported, Free is Avail less
	// InFlight, Slots the pods that would be admitted now.
	InFlight float64 `json:"inFlight"`
	Free     float64 `json:"free"`
	Slots    int     `json:"slots"`
	// Reason says why the node takes no pod, or "admitted".
	Reason string      `json:"reason"`
	Flags  agent.Flags `json:"flags"`
}

// Snapshot returns all nodes by name.
func (h *Hub) Snapshot() []NodeState {
	if h.Addr() == nil {
		return nil
	}
	c := h.look(new(cycle))
	states := make([]NodeState, 0, len(c.views))
	for i, v := range c.views {
		s := NodeState{
			Node: c.directory.nodes[i].name, Signal: v.state(c.now), InFlight: v.inflight,
			Slots: h.rules.slots(v, c.now), Reason: h.rules.admitView(v, c.now).String(),
		}
		if v.report != nil {
			s.Age = c.now - v.arrived
			s.Avail, s.Allowance, s.Running, s.K = v.signal.Avail, v.signal.Allowance, v.signal.Pods, v.signal.K
			s.Saturated, s.Limiting, s.Flags = v.signal.Saturated, v.report.Limiting, v.report.Flags
			s.Free = reserve.Free(s.Avail, s.InFlight)
		}
		states = append(states, s)
	}
	return states
}

// Ledger counts the pods that the Hub keeps track of.
func (h *Hub) Ledger() reserve.Census {
	h.mu.Lock()
	ledger := h.ledger
	h.mu.Unlock()
	return ledger.Census()
}

// Waiting returns the number of pods that were tried and wait for room.
func (h *Hub) Waiting() int { return h.waiting.count() }

// Status is what Handler answers.
type Status struct {
	Nodes   []NodeState    `json:"nodes"`
	Ledger  reserve.Census `json:"ledger"`
	Waiting int            `json:"waiting"`
}

// Handler answers GET with a Status as JSON.
func (h *Hub) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(Status{Nodes: h.Snapshot(), Ledger: h.Ledger(), Waiting: h.Waiting()}); err != nil {
			klog.FromContext(r.Context()).V(4).Info("Status not sent", "err", err)
		}
	})
}
