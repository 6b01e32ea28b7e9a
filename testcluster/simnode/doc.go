// Package simnode brings nodes to an API server without kubelets or containers:
// simulated ones that run pods in the contention model of package sim/node, and,
// with package burn, this machine. It is for tests of schedulers, and for whatever
// else wants pods to start, take their time and end.
//
//	nodes, err := simnode.Start(ctx, simnode.Config{Cluster: config, Nodes: 20})
//	if err != nil {
//		return err
//	}
//	defer nodes.Close()
//
// Any API server will do: that of package embedded, of envtest, or a cluster's. A
// pod that somebody binds to a node starts after a while, shares the node's cores
// with the others there, and succeeds when it has had its CPU time; its status in
// the API follows. What a pod takes, its annotations say ([AnnotationWork] and
// others): a thread's CPU time, or that of so many cores ([AnnotationCores]), or
// nothing ([AnnotationIdle]), as the pods that reserve slots of a test bed take
// nothing. [Config.Observer] hears of each step, and the [Clock] may run faster than
// life.
//
// Requests decide as with a kubelet: a pod that was bound to a node where others, not
// yet ended, hold what it requests is rejected (OutOfcpu, OutOfmemory, OutOfpods) and
// never runs. A pod that is deleted, with whatever grace, is gone at once.
//
// The nodes keep no leases and send no heartbeats: where a node-lifecycle
// controller runs, it will take them for dead.
//
// A [Node] is also what a node's agent of package node wants to see: it samples
// like a telemetry.Reader and is a source of pod events. A [Machine] of the
// caller's own making may do anything else with the pods that it is given; on a [Timed]
// each takes the time that it was made for, whatever else runs.
//
// Types that do not speak of concurrent use are plain values.
package simnode
