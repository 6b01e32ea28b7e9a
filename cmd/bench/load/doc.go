// Command load generates the load of a fleet against one of our programs, which it runs in a process
// of its own, and prints what that costs:
//
//	go run ./cmd/bench/load testbeds     spazio-testbed and spazio-scheduler on an embedded control plane
//	go run ./cmd/bench/load watch        clients of /external/v1/watch see pods come and go
//	go run ./cmd/bench/load page         readers of the page of a scheduler with many nodes
//
// CPU time is that of the process by the operating system's account, memory is VmRSS, looked at once
// a second, and VmHWM; the rest is what the process's metrics say and what its clients see. All
// clients are in this process: where that is short of time, latencies say so.
//
// # Test beds
//
// The nodes are objects alone: no kubelet runs there, so that pods are bound, not run,
// and a pod that is deleted is gone at once. A pair has as many pods placed by the profile of slots,
// beside the placeholder pods of a test bed, and by the default profile, beside nothing; with several pairs the
// ratio is the median. Times are between what this program asked for and what its watches show. A round or a batch begins when nothing of what
// came before is under way any more, and this program, in which etcd and the API server run, has
// collected its garbage.
//
// # Watch and page
//
// A process of its own serves the interface on a Store in memory, in which pods come and go, or the
// page of nodes that change; what makes them is in the measured time. Each event of the watch is of
// a Testbed's counts and of one of its slots. How soon a browser has painted the page is measured by .ci/run web.
package main
