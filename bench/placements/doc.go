// Package placements holds the simulator's kube-schedulers, sim.Default and
// sim.MostAllocated, against the plugins of the real one: a test runs random small
// clusters through both.
package placements
