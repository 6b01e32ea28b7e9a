package plugintest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/spazio-scheduler/spazio/reserve"
)

// Reservations checks every reservation against the rule as documented, independently of the
// plugin's code: a node takes a pod if it is not saturated, has one available beyond those in
// flight and those that room is held for, and slow start leaves a place. The zero value is ready.
// It is safe for concurrent use.
type Reservations struct {
	mu     sync.Mutex
	count  int
	on     map[string]int
	faults []string
}

// Observe is a plugin.HubOptions.OnReserve.
func (r *Reservations) Observe(node string, s reserve.Signal, f reserve.Flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if r.on == nil {
		r.on = map[string]int{}
	}
	r.on[node]++
	slowStart := max(max(s.Cores, leastStart)+float64(s.Pods)/2, s.Allowance)
	if s.Saturated || s.Avail-f.Demand-f.Held < 1 || f.Demand-f.Stalled-f.Late >= slowStart {
		r.faults = append(r.faults, fmt.Sprintf("%s: %+v with %+v", node, s, f))
	}
}

// leastStart is the number of pods that slow start admits on an empty node of any size.
const leastStart = 2

// Counts returns all reservations, and those on a node.
func (r *Reservations) Counts(node string) (all, there int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.on[node]
}

// Faults describes the wrong reservations.
func (r *Reservations) Faults() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.faults)
}
