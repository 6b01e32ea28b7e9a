// Package requestreport compares what pods request with what was measured, so that a platform
// engineer sees what over-declared requests cost before Spazio schedules a pod.
//
// [Collect] reads an [Input] from a cluster, from its agents, and from recordings. [New] is a pure
// function: nodes, pods with their requests, profiles of workloads and the measured use of nodes go in, a
// [Report] comes out. The Report is written as tables ([Report.WriteText]), as
// rows for a spreadsheet ([Report.Rows]), as JSON (encoding/json), or as one HTML page with its
// pictures inside ([Report.WriteHTML]).
//
// # Where the input is from
//
// Nodes, pods and WorkloadProfiles come from an API server, page by page, or from a file that
// `kubectl get nodes,pods,workloadprofiles -A -o json` has written. What nodes use comes from their
// agents, each asked every ten seconds through the API server for the reasons of its last report, or
// from recordings of agents (agent/recording). Of workloads without a WorkloadProfile, recordings show
// the need too: what pods took goes through the profiler's Store, as it does in a cluster.
//
// What cannot be read is unknown in the report, and a note says so; an error is that nothing can be
// said at all.
//
// # What is measured, and by whom
//
//	requested    the API server: the effective requests of pods that are bound and have not ended
//	used         agents: busy cores and tasks that wait for one; memory that is not available
//	room         agents: typical pods, cores and bytes that still fit
//	need         profiles: what a pod of a workload takes, CPU on average and memory at its peak
//	recommended  profiles: what its containers should request, by the profile's preset
//
// What was not measured is unknown ([Measured]), never zero: null in JSON, an empty cell in CSV, "-"
// in a table.
//
//   - A node without samples has no use and no room. A node whose typical pod is a prior, which no
//     pod was measured for, has no room in pods.
//   - A percentile of use is that over spans of ten seconds (nodeUse), by nearest rank: p95 takes 20 spans and
//     p99 takes 100, with fewer it is unknown. A span of a live cluster is the value of one moment, one of
//     recordings is a mean. One look at a cluster gives one value, and no verdict.
//   - A profile's amounts are published rounded up by an eighth of an octave; the need is the middle of
//     that step (profile.Demand.Midpoint).
//   - A workload without a profile has no need. A recommendation is known if it covers every
//     container that its pods have.
//
// # What follows from it
//
//	full       a node whose pods request 90 % of its allocatable CPU or memory, or more
//	idle       a full node that uses less than half of its CPU and of its memory (p95, else the mean)
//	at risk    a node where tasks wait for a CPU (without pressure data: 95 % of it is busy), or memory is
//	           90 % full (p95, else the mean); or one that is not full and has no room for a typical pod,
//	           to which kube-scheduler still sends pods
//	excess     what a workload's pods request above their need; workloads are ordered by the larger
//	           of its shares of the cluster's allocatable CPU and memory
//	saving     what the pods of a workload that request a resource would request less by the
//	           recommendation, while init containers and overhead stay as they are; in sums, without
//	           the workloads that would request more, which are the shortfall, and without those of
//	           a stale or little known profile, or that an autoscaler scales by utilisation
//
// Means add up over nodes. A percentile of the total is that of the sum over all measured nodes in
// the same span; where one of them has no value its mean stands in, and a span counts if nine of
// ten have one. Room adds up without nodes below zero, since pods do not share the room of another node, and
// without nodes that take no pods.
//
// Types that do not speak of concurrent use are plain values.
package requestreport
