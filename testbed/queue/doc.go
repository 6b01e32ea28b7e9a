// Package queue plans which of a scheduling's jobs start now, and in which slots.
//
// A scheduling either queues jobs ([Request.Queue]) or gives each its slots
// ([Request.Placements]). With the free slots F of a testbed, in the order of their
// index, [Plan] submits
//
//	queue       leave out what is submitted; entry i gets the i-th of F; in order of first
//	            occurrence, the jobs all of whose entries got one, up to the first that
//	            did not
//	placements  a job whose slots are all in F, which then lacks them; Strict stops at
//	            the first that is not, Relaxed goes on
//
// after L. Schwerdtfeger's thesis (see package testbed; §4.1, fig. 4.1), whose
// program's own cases the tests replay. A job that occurs n times in the queue runs
// with n pods.
//
// The job that stops there is [Blocked], with its earmark: the free slots that the jobs of later
// schedulings must not get, or the blocked one might wait for ever.
//
// Types that do not speak of concurrent use are plain values.
package queue
