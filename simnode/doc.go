// Package simnode stands in for a node: a kubelet that runs pods in the
// contention model of package sim/node.
//
// [Node] puts a lock, a virtual [Clock] and the interfaces of a real node around
// a model: the agent samples it and listens to its containers as it would on a
// host. [Kubelet] is what the API server sees: it watches for bound pods, runs
// them on a [Machine] and writes their phases back.
package simnode
