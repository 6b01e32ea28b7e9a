// Command crowd measures what a kernel makes of many containers at once: whether a
// batch takes longer if all of it runs together than a few at a time, and where the
// time goes. It needs Linux, and root for containers:
//
//	go run ./bench/crowd [--runtimes child,runc] [--loads spin,cache,memory] [--at-once 2,4,8,16,32]
//	go run ./bench/crowd --runtimes containerd --containerd /run/containerd/containerd.sock
//
// A batch is a number of tasks, each a process with the same amount of work, which
// is counted in steps and not in time: a step that costs more shows as CPU time.
// At most so many run at once; where one ends the next begins. Between two rounds
// the order of the crowds changes, and each is held against the first of --at-once
// in the same round.
//
// Runtimes:
//
//   - child: a child process of this program;
//   - runc: a container of runc's;
//   - containerd: one of containerd's, by its ctr.
//
// Loads:
//
//   - spin: arithmetic in registers;
//   - cache: a walk in random order through 1 MiB, about a core's own cache, so
//     that whoever runs in between has driven it out;
//   - memory: the same through 16 MiB, which such a cache never holds.
//
// Of a batch there are: its time from the first start to the last end; the CPU time
// of a task's work; the CPU time of the whole machine besides the work, a task (to
// start it and to end it: runtime, shim, kernel, and the task's own preparation);
// how long a start takes; and how often a task was taken off its CPU. The machine
// must do nothing else.
package main
