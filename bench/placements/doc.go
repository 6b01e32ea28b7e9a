// Package placements holds the simulator's kube-scheduler, sim.Default, against the
// plugins of the real one: a test runs random small clusters through both.
package placements
