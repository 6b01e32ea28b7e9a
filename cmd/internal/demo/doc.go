// Package demo is the program spazio-demo. It runs Spazio from end to end in one process: an embedded
// control plane, the scheduler with a profile of Spazio and one of the default, aggregator and profiler,
// and simulated nodes with a real agent each. It submits a batch of pods under one profile after the
// other and sums up how each fared. In a second act pods of four unlike owners run under Spazio, again
// once the profiler has learnt what they take, and under the default profile.
//
// planBatch draws like pods from a configuration alone, and unlikeTasks those of several owners, so that
// both schedulers get the same work. A batchRun submits them under one scheduler's name and follows
// them, and summarise computes the figures.
//
// # JSON
//
// A demoResult encodes as
//
//	config      what was run: pods, cpuSeconds, seed, nodes, cores, timeScale,
//	            noUnlike, profiles
//	simulated   the table's columns, one a profile in the order of the runs
//	paces       one a profile, how well the machine kept up: profile, lateSeconds,
//	            lagSeconds, leastSojourn
//	unlike      the second act, unless it was left out: the owners, and of each run
//	            the columns of all pods and of each owner's, known and pace
//
// # Test beds
//
// spazio-demo testbed is another experiment in one process: a program that uses only the interface for
// outside programs (package external/profiler) learns which jobs get on well beside each other, and
// puts them together accordingly. Around it run an embedded control plane with RBAC, the controllers
// of Jobs and of test beds, kube-scheduler with the profile of slots, and simulated nodes of one core.
// The plan's makespan is compared with that of all pairings, by the model of a node.
//
// # Comparisons
//
// spazio-demo compare is the flags of package compare. Kubernetes' control plane, schedulers and agents
// are the roles of a comparison.
package demo
