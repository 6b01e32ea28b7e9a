// Package testbeds is an experiment from end to end in one process: a program that knows
// nothing but the interface for outside programs learns which jobs get on well beside each
// other, by package external/profiler, and puts them together accordingly. Around it run an
// embedded control plane with RBAC, the controllers of Jobs and of test beds,
// kube-scheduler with the profile of slots, and simulated nodes of one core. What the plan
// took is held against all pairings, by the model of a node. The command spazio-demo testbed
// is its flags.
//
// Types that do not speak of concurrent use are plain values.
package testbeds
