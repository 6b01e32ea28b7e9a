// Package plan decides what a cluster's autoscaler is shown: which CapacityBuffers ask for nodes
// on behalf of pods that wait for measured room, which nodes are labelled as full, and which are
// protected from being drained while they are busy. It knows no API: package autoscale
// translates.
//
// A [Planner] is given, at each pass, what waits, what the nodes measure and what exists, and
// returns what should exist. It remembers only since when things are as they are, so that a
// Planner that starts anew, as after the death of a leader, continues from what exists: it never
// doubles an object, and removes what exists only after the same delay as any other.
//
// A Planner is for one goroutine; all other types are plain values.
package plan
