// Package energy turns counters of energy into what each pod took, and into a
// figure by which a scheduler can choose nodes.
//
// It follows T. van Kemenade, "Energy-aware scheduling in Kubernetes on virtual
// machines" (VU Amsterdam), in what it sets out to do; docs/energy.md names what it
// mends.
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
