// Package compare compares schedulers on real processes and, where this machine is the
// cluster, on simulated counters of energy over their real CPU time.
//
// A run is one scheduler, its agents if it has any, an application ([social]) of many pods,
// a load of a constant rate, and pods that are killed and come back. Runs of all schedulers
// alternate, forwards and backwards, and are compared pair by pair (experiment.PairedRatio): what
// drifts meanwhile is in both halves of a pair. A [Report] has what each scheduler took in joules and
// processor time, and how its requests fared; where the interval of a ratio contains 1, it shows no
// difference, whatever the means are. [Components], [Guests] and [Following] report what else is
// measured.
//
// Slices of this machine's CPUs are the nodes ([slice]); control plane, schedulers,
// agents, pods and the load are child processes ([children]), so that what each takes is
// charged to it, and nothing of it outlives a run. What is Kubernetes' own of them is given
// as [Roles]: this package imports client-go alone.
//
// Functions report their progress to the function say, which is required, line by line without the
// line's end, on the goroutine of their caller.
//
// Types are plain values unless they say otherwise.
//
// [social]: https://pkg.go.dev/github.com/spazio-scheduler/spazio/cmd/compare/social
// [slice]: https://pkg.go.dev/github.com/spazio-scheduler/spazio/testcluster/simnode/slice
// [children]: https://pkg.go.dev/github.com/spazio-scheduler/spazio/testcluster/simnode/children
package compare
