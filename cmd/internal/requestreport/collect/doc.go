// Package collect reads what a requestreport.Report is made of, and changes nothing.
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
// Types that do not speak of concurrent use are plain values.
package collect
