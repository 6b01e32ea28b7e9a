// Command contention holds what could stand for the contention of a node's CPUs
// against the number of tasks that really want to run. It needs root, for it runs
// its loads in a kubelet's tree of control groups:
//
//	go run ./bench/contention [--loads loop,burst] [--classes besteffort,weighted,mixed] [--output json]
//
// The tree is kubepods / class / pod / container, of cgroup v1 or v2: a BestEffort
// class of cpu.shares 2 (cpu.weight 1) and a weighted one of 1024 (39) with pods
// of 102 (4), which is a request of 100 millicores. Each pod runs one load, a
// process of this program that waits until it is in its group. "mixed" puts every
// other pod into each class.
//
// The number of tasks that run or wait is known independently of what is
// compared: busy CPUs and, for all tasks of the machine, the time for which the
// kernel says that they waited for one (/proc/PID/task/TID/schedstat). The channel
// should be min(1, tasks/(2·CPUs)).
//
// Candidates, each as (utilisation + waiting)/2, sampled as an agent does:
//
//   - runnable: telemetry's default, the mean of procs_running of /proc/stat;
//   - pressure: pressure stall information of the node;
//   - demand: the sum over the pods of CPU time used and stalled (cpu.pressure of
//     their groups; in the hybrid layout the processes join groups of the unified
//     hierarchy, which a kubelet does not do);
//   - delay: what the tasks' schedstat says they waited, sample by sample. A kernel
//     with /proc/schedstat has the same sum for a whole CPU; of one without it an
//     agent would have to read a file for each task.
//
// Steal can't be made from inside a machine. The simulated node has it. Tasks that a
// CPU limit has stopped count as waiting in schedstat and in cpu.pressure, though
// the node is not fuller for them: with the load "limit" what is wanted is too much.
//
// The command flood asks what an agent makes of an overload that it has not caused:
//
//	go run ./bench/contention flood
//
// It runs 30 BestEffort pods of a core each, three times, drained in between, on
// all cores of this machine and in the groups where an agent looks for a kubelet's;
// beside them a whole agent without its streams. Then it runs as many pods again
// with the agent's reports for a scheduler, and says how many were there at once
// and what the agent takes a pod to cost. It fails if the cost is neither right to
// a quarter nor doubted, or more than the cores and three were there.
package main
