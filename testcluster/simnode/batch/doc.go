// Package batch submits a number of pods to a cluster of simulated nodes and evaluates how they ran.
//
// [Plan] draws like pods from a configuration alone, and [Unlike] those of several owners, so that all
// schedulers get the same work. A [Run] submits them under one scheduler's name and follows them: its
// Observe is the Observer of the nodes' kubelet. [Summarise] computes the figures.
//
// Types are plain values unless their comments mention concurrent use.
package batch
