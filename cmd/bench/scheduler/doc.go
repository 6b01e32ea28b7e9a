// Command scheduler measures what the plugin costs a scheduler: it runs the workload
// SchedulingBasic of Kubernetes' scheduler_perf with the plugin and without it, in turn, until the
// 95 % interval of the throughput's ratio is narrow enough.
//
//	go run ./cmd/bench/scheduler --nodes 1000 --pairs 40
//
// Each run is a process of its own, with the API server and the scheduler of
// scheduler_perf, beside an etcd. With the plugin, a further process stands for
// the agents: it keeps a connection for each node and makes a report a second
// for each, with room for any pod, that lists the pods which the scheduler gave
// notice of. As with real agents, a report goes out in full if the pods changed or
// the room moved, which it does in one of eight; otherwise there are heartbeats.
// What that process takes of the machine is not the scheduler's cost: without the
// plugin, a process that does nothing useful takes the same share.
//
// Throughput is that of the measured pods from the first binding to the last.
// The CPU time a pod is given twice: of the whole process (API server,
// scheduler and clients in one) by the operating system's account, and of the
// scheduler's goroutines alone by profile, without the garbage collector. The
// latter are those that the scheduler or a plugin started, with the informers;
// the plugin's own, which receive reports and wake pods whether pods are
// scheduled or not, are also shown apart, in cores.
package main
