// Package demo runs Spazio from end to end on one machine: an embedded control
// plane, the scheduler with a profile of Spazio and one of the default, the
// aggregator, and simulated nodes with a real agent each. It submits a batch of
// pods under one profile after the other and sums up how each fared.
//
// What can be pure is: [Batch] plans the pods, [Summarise] turns what became of
// them into figures, [Result.Table] and the live view render them. [Run] is the
// rest.
package demo
