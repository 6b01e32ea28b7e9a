// Package demo is the program spazio-demo: it runs Spazio from end to end on
// one machine, an embedded control plane, the scheduler with a profile of Spazio
// and one of the default, the aggregator, and simulated nodes with a real agent
// each. It submits a batch of pods under one profile after the other and sums up
// how each fared. The agents report room, or, for the batch under the profile pronto,
// by Pronto's rejection signal.
//
// # JSON
//
// With --output json it prints a [Result]:
//
//	config      what was run: pods, cpuSeconds, workDistribution, memoryBytes,
//	            rate, seed, nodes, cores, timeScale, noRealNode, profiles
//	simulated   the table's columns, one a profile in the order of the runs
//	real        the same of this machine, unless it was left out
//	batches     with --records one a profile: [BatchRecord], with each pod's times
//	            and what the batch took of the scheduler and of the process
package demo
