package plugintest

import "slices"

// Faults describes the wrong reservations.
func (r *Reservations) Faults() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.faults)
}
