// Package simnode stands in for a node: a contention model of its cores and
// memory, and a kubelet that runs pods on it.
//
// [Model] is pure: virtual time and the seed are arguments, and the same calls
// give the same events. c cores are shared among the running pods by processor
// sharing, each pod being one thread that never sleeps. Time is divided at
// every change of the set of runnable threads, so a result does not depend on
// how a span is cut into steps. On top of the pods run
//
//   - system daemons: short bursts, arriving as a Poisson process,
//   - the container start: .3 core-seconds of one thread, ending as the pod
//     starts to run, and .1 core-seconds as it ends.
//
// Utilisation is the busy share of the cores. Pressure ("some") is the share of
// time in which a runnable thread waits, that is, in which the demand exceeds
// the cores: about 0 below n = c, the daemons' share of time at n = c, 1 above.
// A node whose pods take more memory than it has swaps: its pods run at a fifth
// of their speed.
//
// [Node] puts a lock, a virtual [Clock] and the interfaces of a real node around
// a model: the agent samples it and listens to its containers as it would on a
// host. [Kubelet] is what the API server sees: it watches for bound pods, runs
// them on a [Machine] and writes their phases back.
package simnode
