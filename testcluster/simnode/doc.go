// Package simnode brings nodes to an API server without kubelets or containers:
// simulated ones that run pods in the contention model of package sim/node, or machines
// of the caller's own making. It is for tests of schedulers, and for other programs that
// need pods to start, take their time and end.
//
//	nodes, err := simnode.Start(ctx, simnode.Config{Cluster: config, Nodes: 20})
//	if err != nil {
//		return err
//	}
//	defer nodes.Close()
//
// Any API server will do: that of package embedded, of envtest, or a cluster's. A
// pod that is bound to a node starts after a while, shares the node's cores with the
// other pods there, and succeeds when it has had its CPU time; its status in the API
// follows. Annotations ([AnnotationWork] and others) state what a pod uses: the CPU time
// of a thread or of several cores ([AnnotationCores]), or nothing ([AnnotationIdle]), as
// the pods that reserve slots of a test bed. [Config.Observer] is called for each step,
// and the [Clock] may run faster than real time.
//
// Requests decide as with a kubelet: a pod that was bound to a node where others, not
// yet ended, hold what it requests is rejected (OutOfcpu, OutOfmemory, OutOfpods) and
// never runs. A pod that is deleted, with whatever grace, is gone at once.
//
// The nodes keep no leases and send no heartbeats: where a node-lifecycle
// controller runs, it will mark them as failed.
//
// A [Node] is also what a node's agent of package node wants to see: it samples
// like a telemetry.Reader and is a source of pod events. A [Machine] of the
// caller's own making may do anything else with the pods that it is given; on a [Timed]
// each takes the time that it was made for, whatever else runs.
//
// A [Group] runs the parts of such a cluster in one process, and stops them in reverse order.
//
// Types are plain values unless their comments mention concurrent use.
package simnode
