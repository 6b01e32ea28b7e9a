// Package profiler keeps what the pods of a cluster take, by workload: pods and the
// windows of their agents in, profiles to publish and checkpoints out.
//
//	Pod, Gone        the API's pods: a window counts for the workload of its pod
//	Windows          of a node's agent, of that node's pods alone
//	Changed          what differs from what is published, most urgent first
//	Published, Failed  how that went
//	Checkpoints      what a next process begins with (Restore)
//
// Store is all of it and pure: time is an argument, and nothing is sent or read.
// Package usageserver serves the agents and package controller follows and writes
// the API's objects. Each replica receives everything, so that all know the same; one
// of them writes.
//
// # Bounds
//
// A Store holds 20,000 workloads and 2,000 of a namespace; one more drops the one
// that was seen least lately, and with its objects it goes. Windows whose pod the
// API has not shown yet wait, 10,000 of them for ten minutes. How much one node may
// say of a workload is package profile's. What is refused is counted by reason.
//
// Checkpoints are of shards, into which workloads fall by their names: what was
// measured is in one after Config.Refresh, and 10,000 workloads need less than one
// write a second.
//
// "The thesis" is S. Galantino's (see package profile); what is called seed is as it says.
//
// Types that do not speak of concurrent use are plain values.
package profiler
