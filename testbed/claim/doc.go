// Package claim grants jobs to schedulings, and a testbed's slots to their jobs, so
// that any number of schedulings share a testbed.
//
// Schedulings are served in one order ([Precedence]): higher priority first, then the
// older, then by name. A scheduling gets all the jobs that it lacks at once or none
// ([Acquire]), and a job all its slots at once or none ([Table.Grant]). No scheduling holds
// one thing while it waits for another of its kind, so there is no deadlock. (A scheduling
// to which jobs are added does hold some; package lifecycle has it complete once those
// have ended, whether or not it has the others.)
//
// What an earlier scheduling counts on is kept from those behind it, though it may be free: its
// jobs, and the earmark of its first job that does not fit ([Blocked]). So no scheduling is
// overtaken for ever by others of its own priority. One that the whole testbed could not
// serve keeps nothing from the others.
//
// An exclusive scheduling waits until nothing is claimed, while those behind it get
// nothing, and then has the testbed alone until Table.ExclusiveFor is cleared.
//
// The claims are the record: they are stored before anything is created, in one write
// that fails if another has written since. A controller whose write fails, and one that
// starts, makes its [Table] anew of what is stored; it needs nothing else to go on.
//
// # Which jobs start
//
// [Plan] decides which of a scheduling's jobs start now, and in which slots. A scheduling either
// queues jobs ([Request.Queue]) or gives each its slots ([Request.Placements]). With the free slots
// F of a testbed, in the order of their index, Plan submits
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
// The job that stops there is Blocked, with its earmark: the free slots that the jobs of later
// schedulings must not get, or the blocked one might wait for ever.
//
// Types that do not speak of concurrent use are plain values.
package claim
