// Package batch puts a number of pods on a cluster of simulated nodes and says
// how they fared.
//
// [Plan] draws the pods from a configuration alone, so that any number of
// schedulers is given the same work. A [Run] submits them under one scheduler's
// name and follows them: its Observe is the Observer of the nodes' kubelet.
// [Summarise] turns what became of them into figures. A [Log] is what the API server
// says of the pods, whoever submitted them; [Remove] clears the table.
//
// Types that do not speak of concurrent use are plain values.
package batch
