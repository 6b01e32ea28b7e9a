// Package energy turns counters of energy into what each pod took, and into a
// figure by which a scheduler can choose nodes.
//
// It follows T. van Kemenade, "Energy-aware scheduling in Kubernetes on virtual
// machines" (VU Amsterdam), in what it sets out to do, and avoids these faults of it and
// of related tools, by their sources and the author's recordings (34cf0ef):
//
//   - Scaphandre's QEMU exporter (04cc6ec) adds microwatts to a counter of microjoules once
//     per loop of about 7 seconds, so guests read some 7.2 times too little. Its tree lacks
//     name and max_energy_range_uj, so no other reader takes it.
//   - One run of each scheduler (5,081 J and 5,041 J) supports no conclusion.
//   - The thesis's scheduler drops all pending pods of a node except the first, divides by
//     zero without pods, and queries Prometheus in the decision.
//   - Kepler's (13944a6) active energy is 0.6 of the true dynamic part at a utilisation of
//     0.1 and 1.5 at 1, for 40 to 120 W.
//   - PEAKS (scheduler-plugins 903da7d) scores overloaded and unknown nodes best.
//
// Its parts:
//
//   - [Meter] makes intervals of readings of energy counters, such as RAPL's:
//     counters wrap, stand still, jump back and vanish.
//   - [Curve] learns a node's power as a function of its utilisation, and so what it
//     takes idle and what one core more would.
//   - [Split] divides an interval's joules among the pods by their CPU time. What no
//     pod can be shown to have caused stays named: idle, system, ended.
//   - [Book] remembers what a pod of a workload takes, in cores and in watts.
//   - [Goodness] rates how good a node is for a pod, by its [Power], and a [Ranker] compares
//     it with that of all nodes.
//
// An agent reads its counters each second (package energy/source), gives them to Meter.Add,
// teaches the Curve the interval's watts at the node's utilisation, divides its joules by
// Split.AttributeTo, and has Book.Observe what each pod was charged. A scheduler compares
// the nodes by a Ranker, for what Book.Estimate expects of the pod.
//
// Two nodes of one model have the same joules per core-second, so there a share by
// CPU time is CPU time in another unit: energy adds to what a scheduler knows between
// nodes that differ, where power is not linear in load, and where empty nodes sleep.
//
// Units are joules, watts, core-seconds and cores, except for a counter's microjoules.
// The package is pure: time is an argument, inputs are never modified, and it imports
// the standard library alone. Errors are a [*field.Error], or of a zone a
// [*ZoneError]; none of them changes anything that it does not say.
//
// Types that do not speak of concurrent use are plain values.
package energy
