// Package relief decides which running pods to evict from nodes that have become too full.
//
// A scheduler decides once. If load grows afterwards, the node stays too full until pods end. A
// [Planner] watches what nodes measure of themselves, and plans the eviction of single pods that
// fit elsewhere.
//
// # Overcommitted nodes
//
// A node is overcommitted if its room has been below −Tolerance typical pods, or a channel full, for
// Sustained, and tasks waited for a core or memory was under pressure in that time. A full channel
// counts in any case because usage ends at 1: by how much the pods exceed it is not measured. A node
// without a current measurement is never overcommitted.
//
// # Pods
//
// A pod may be evicted if the caller says so, it has run for MinAge, it did not replace an evicted
// pod within ten minutes, and another node that it may run on has room for it by the inequality of
// package reserve. Of these pods the planner takes the smallest set whose end brings the room back to
// 0, and gives back Tolerance at least, by what the pods take of the scarcest resource. It looks at the
// lowest priority and deletion cost first, and takes the fewest pods there, of these the least demand,
// and the youngest where that is the same: their end loses least. Only the first pod of the set is
// evicted. Its room on the other node is reserved until its replacement appears, at most for two
// minutes. The rest follows from what the node measures then.
//
// # Limits
//
// A node loses at most one pod in an Interval, and none while another one of it is terminating; the
// cluster loses at most MaxPerCycle. Nodes that lost fewest come first. A node that is still overcommitted
// after three evictions, or after fewer if more are needed than are left of the three, is left alone for
// an hour: pods that can move do not make its load. An eviction that failed pauses its node for an
// Interval and its pod for five minutes.
//
// Everything is a function of the arguments and of the calls before; nothing reads a clock. Inputs
// are never modified. Types that do not mention concurrent use are plain values.
package relief
