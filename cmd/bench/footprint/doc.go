// Command footprint measures what spazio-agent takes from the node it measures, as root:
//
//	go run ./cmd/bench/footprint --duration 5m
//
// It builds the agent and runs it at 10 Hz on the machine's own /proc, with the
// cgroups of a kubelet: 50 pods, of which --rate start and as many end each
// second, their groups and processes appearing in the order and at the distances
// seen on a node with containerd. They are in the kernel's own hierarchies, below a group where no
// kubelet looks, with a process in each container that rests; all of them are removed at the end.
// The agent streams its reports to a signal server of this process, which takes
// heartbeats, pushes its model to it, and is scraped as a Prometheus would.
//
// With --usage the agent reads what each pod takes and sends it to a profiler of this process, and
// agents take turns: without --usage, with, with, without, each for half the duration. The
// table has what usage adds. With --energy there are made-up energy counters of two packages, and
// agents take turns so without --energy and with it.
//
// An agent does not know how often the containers of a pod that was there before it have
// started, and looks at them oftener: at the default rate the last of those has ended after the
// default warm-up, which each turn begins with.
//
// CPU time is that of the process by the operating system's account between the end of the warm-up
// and the end of the run; memory is VmRSS, looked at once a second, and VmHWM of
// /proc/PID/status. What follows -- goes to the agent, flags about energy in the form --name=value.
package main
