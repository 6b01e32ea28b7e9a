// Command validate holds the simulator against an embedded cluster: it runs the
// same batch of pods on both, under Spazio and under the default scheduler, and
// compares the useful share and the mean run time.
//
//	go run ./bench/validate --seeds 1,2,3 --work 5
//
// The cluster is that of spazio-demo, with simulated nodes alone: a real API
// server, the real scheduler with the plugin, real agents, in real time. Each
// seed is a demo of its own, started as a process with --records. What the
// simulator is given of a pod is what its node is given (work, memory, start-up
// latency) and when it was created; the rest are the simulator's defaults, but for
// the kubelet's rate of starts, which the cluster's nodes do not limit.
//
// It fails where the geometric mean of the ratios over the seeds is off by more
// than --tolerance. The metrics below the judged ones say where a difference
// comes from; see metrics.
package main
