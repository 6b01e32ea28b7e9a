// Command footprint measures what spazio-agent takes from the node it measures:
//
//	go run ./bench/footprint --duration 5m
//
// It builds the agent and runs it at 10 Hz on the machine's own /proc, with the
// cgroups of a kubelet made up in a temporary directory: 50 pods, of which
// --rate start and as many end each second, their directories and processes
// appearing in the order and at the distances seen on a node with containerd.
// The agent streams its reports to a signal server of this process, which takes
// heartbeats, pushes its model to it, and is scraped as a Prometheus would. In the
// same run and on the same machine a prometheus-node-exporter (Debian's package of
// that name) is scraped once a second, unless --node-exporter is empty.
//
// With --usage the agent reads what each pod takes and tells a profiler of this process, and
// agents take turns: without --usage, with, with, without, each for half the duration. The
// table has what usage adds.
// The files of every pod lead to those of this process's own cgroups, so that the kernel
// makes each up anew; it has to sum up one group and not one a pod.
//
// With --energy there are made-up energy counters of two packages, and agents take turns so
// without --energy and with it. The table has what energy adds.
//
// CPU time is utime + stime of /proc/PID/stat between the end of the warm-up
// and the end of the run; memory is VmRSS, looked at once a second, and VmHWM of
// /proc/PID/status. What follows -- goes to the agent: with
//
//	go run ./bench/footprint --duration 1m -- --debug-listen 127.0.0.1:6060
//
// go tool pprof can look inside while it runs.
package main
