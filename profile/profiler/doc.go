// Package profiler keeps what the pods of a cluster take, by workload: pods and the
// windows of their agents in, profiles to publish and checkpoints out.
//
//	Pod, Gone          the API's pods: a window counts for the workload of its pod
//	Windows            of a node's agent, of that node's pods alone
//	Changed            what differs from what is published, most urgent first
//	Published, Failed  how the writing of that went
//	Checkpoints        what the next process begins with (Restore)
//
// A Store is pure: time is an argument, and it sends and reads nothing. A Server receives
// the windows of agents, and package controller follows and writes the API's objects. Each
// replica receives everything, so that all know the same; one of them writes.
//
// # Bounds
//
// A Store holds 20,000 workloads and 2,000 of a namespace; one more drops the one that was
// seen least lately, and its objects are deleted. Windows whose pod the API has not shown
// yet wait, 10,000 of them for ten minutes. Package profile bounds the weight that one node
// has in a workload. Windows that are refused are counted by reason.
//
// Workloads fall into the shards of checkpoints by their names. What was measured is in one
// after Config.Refresh, and 10,000 workloads need less than one write a second.
//
// "The thesis" is S. Galantino's (see package profile); what is called seed follows it to
// the letter.
//
// Types that do not speak of concurrent use are plain values.
package profiler
