// Command testbedperf measures what test beds cost: it runs spazio-testbed and
// spazio-scheduler as processes of their own on an embedded control plane with many
// nodes, and holds what it finds against bars.
//
//	go run ./bench/testbedperf
//
// The nodes are objects alone: no kubelet runs there, so that pods are bound, not run,
// and a pod that is deleted is gone at once. A pair has the same pods placed
//
//	beside the ghosts of a test bed with a slot of each place
//	beside nothing
//	beside as many plain pods as there were ghosts
//
// by the default profile; beside the ghosts, by the profile of slots too. With several
// pairs the ratios are medians. Times are between what this program asked for and what
// its watches show; a pod's resources are unguarded from its ghost's deletion to its
// own binding, as one watch shows both. A round or a batch begins when nothing of what
// came before is under way any more, and this program, in which etcd and the API server run, has
// collected its garbage (--collect=false leaves that to fall where it may); what collecting takes
// is told beside the processor time.
//
// How soon jobs have what runs them says as much of the machine as of spazio-testbed: beside it
// stands how long this program takes for the writes that they cannot have it without.
//
//	go run ./bench/testbedperf watch
//
// measures clients of the external scheduler's interface: a process of its own serves it on a
// Store in memory, in which pods come and go, and tells how much memory it uses; the clients are
// here. Each event is of a Testbed's counts and of one of its slots.
package main
