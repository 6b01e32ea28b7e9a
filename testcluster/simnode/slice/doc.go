// Package slice makes nodes of parts of this machine: a [Machine] owns some of its CPUs,
// and its pods are child processes that run on those alone.
//
// What a slice's agent reads is made up of its processes' real CPU times, as if there were
// nothing else on these CPUs: a [Host] has a powercap tree by a stated model of power
// (energy/source/fakerapl), a kubelet's control groups on cgroup v2, and a /proc/stat, in
// a directory that the agent takes for /sys, /sys/fs/cgroup and /proc:
//
//	DIR/NAME/class/powercap  --sys-root DIR/NAME
//	DIR/NAME/cgroup          --cgroup-root DIR/NAME/cgroup --pod-source cgroup
//	DIR/NAME/proc            --proc-root DIR/NAME/proc --cpu-counter stat --cpu-mode utilisation --channels cpu
//
// A host may have guests, as the directories of machines that have no counters themselves:
// what spazio-host-energy shares among them by the host's files they read at --energy-shared.
//
// A generator keeps the files of all hosts, in its own process, so that its CPU time is not
// charged to another: [Main] is its role, a [Config] its argument, and each [Message] adds or
// removes a process.
//
// Types that do not speak of concurrent use are plain values.
package slice
