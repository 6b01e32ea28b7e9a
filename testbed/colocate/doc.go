// Package colocate learns how long jobs take beside each other, and plans which to put
// together.
//
// M[a][b] is the mean run time of a on a node beside b, with its count and the sum of
// squares of the deviations ([Cell]). It is not symmetric: each job's own time counts.
// The profiler of L. Schwerdtfeger's thesis (see package testbed; §5.2) runs the pair
// with the fewest samples next ([Matrix.Next]) and puts jobs together greedily
// ([Matrix.Greedy]): the first that is left with the one beside which it takes least.
// That may put together two that are bad neighbours, because the good ones were given
// away before. [Matrix.Plan] finds, of all pairings, the one whose slowest job is done
// first, and of those the one with the least sum of run times.
//
// Types that do not speak of concurrent use are plain values.
package colocate
