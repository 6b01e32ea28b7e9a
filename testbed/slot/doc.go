// Package slot keeps the slots of a testbed: which there are, in which order, what
// is in each, and what is to be done about it.
//
// A slot is a place for one pod on a node, named NODE/POSITION ([ID]). While no pod
// is in it a placeholder, a pod that does nothing, holds its resources. Nodes are ordered
// by the value of the testbed's label, integers numerically, then text, then by
// name; the slots by (position, node) ([Order]), so that a slot's index, its rank, is
// the same for all who see the same nodes, and index i and i + nodes lie on one node.
//
//	nodes, label values  →  Order  →  index ⇄ identity
//	pods, claims, time   →  Table  →  state of each slot, counts, Diff: placeholders to create, pods to delete
//	a node's room        →  Auto   →  how many slots it should have
//	all testbeds         →  Share  →  whose slots a node may carry
//
// A slot is
//
//	Free      its placeholder is bound, no job claims it
//	Pending   no job claims it, but its placeholder is not there or not bound
//	Reserved  claimed, and its pod has not come
//	Occupied  a live pod, bound and not terminal, is in it
//	Retiring  no longer wanted, but claimed or with a live pod in it
//
// The order and the states are those of L. Schwerdtfeger's thesis (see package
// testbed; §4.3.2), Pending and Retiring excepted. A [Table] works its
// slots out anew after a change.
//
// Types that do not speak of concurrent use are plain values.
package slot
