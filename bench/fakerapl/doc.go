// Command fakerapl says what the joules of pods are worth, on a machine whose energy
// counters are made up and whose load is real:
//
//	go run ./bench/fakerapl --check
//
// Processes of its own burn CPU time as the pods of a made-up kubelet, in unlike parts,
// on two halves of the machine's CPUs; one more is in no pod. Ten times a second their
// CPU times, by the kernel's clock of each process, go into the files of pods' control
// groups and of /proc/stat, and into energy/source/fakerapl: two packages with memory,
// whose counters go on at 0 every 100 J, by a stated model of power with noise. What
// that knows each pod has caused is the truth.
//
// On the other side is what an agent has: energy/source's powercap reader, an
// energy.Meter and an energy.Curve once a second, and an energy.Split each interval,
// by the CPU times in the files. For each load the table holds against the truth the
// node's joules, each pod's over the whole run, and each pod's of each interval, which
// should be within two of its standard deviations; that the deviation is not just large
// is seen beside it, as a part of the pod's joules. Last stands what the error is made of:
// counters that told other joules than the machine took, an idle power that is not as
// learnt, a core-second that costs more on one package than on the other, and one that
// cost more when the pod ran than when others did.
//
// With --virtual there are no processes: the same demand goes to CPUs that are made up,
// in virtual time, beside others that take --others of one, and the same agent watches.
// That is the same each time, as fast as it goes, and on a busy machine too, so that
// --runs of many seeds say what single runs of processes are a sample of.
//
// With --check the exit code is 1 where a bar is missed: the node within .5 %, pods
// within 5 %, the truth inside ± 2 SD in nine of ten of at least 200 pod-intervals, and
// the load within a tenth of what was asked for, or the machine was not quiet enough to
// say anything about it. Nothing here tells how accurate the counters of real hardware
// are.
package main
