// Package claim grants jobs to schedulings, and a testbed's slots to their jobs, so
// that any number of schedulings share a testbed.
//
// Schedulings are served in one order ([Precedence]): higher priority first, then the
// older, then by name. A scheduling gets all the jobs that it lacks at once or none
// ([Acquire]), and a job all its slots at once or none ([Table.Grant]): nobody holds
// one thing while it waits for another of its kind, so there is no deadlock. (One that
// is told to take more jobs does hold some; package lifecycle has it complete once those
// have ended, whether or not it has the others.)
//
// What an earlier one counts on is kept from those behind it, though it may be free: its
// jobs, and the earmark of its first job that does not fit (queue.Blocked). So nobody is
// overtaken for ever by schedulings of its own priority. One that could not be served by
// the whole testbed keeps nothing from anybody.
//
// An exclusive scheduling waits until nothing is claimed, while those behind it get
// nothing, and then has the testbed alone until [Table.Unlock].
//
// The claims are the record: they are stored before anything is created, in one write
// that fails if another has written since. Who fails, and who starts, makes the table
// anew from what is stored ([Rebuild]); nothing else is needed to go on.
//
// Types that do not speak of concurrent use are plain values.
package claim
