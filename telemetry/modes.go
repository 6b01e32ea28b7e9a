package telemetry

import (
	"fmt"
	"slices"
)

// CPUMode selects what the cpu channel measures.
type CPUMode string

const (
	// CPUHalf is (utilisation + contention)/2.
	CPUHalf CPUMode = "half"
	// CPUUtilisation is the share of CPU time that was not idle.
	CPUUtilisation CPUMode = "utilisation"
	// CPUContended is contention alone.
	CPUContended CPUMode = "contention"
)

// CPUContention selects what the cpu channel takes for contention.
type CPUContention string

const (
	// ContentionRunnable is the number of tasks that waited for a CPU, a CPU, at
	// most 1: those that could run (procs_running of /proc/stat, the mean of the
	// last readings) less those that did.
	ContentionRunnable CPUContention = "runnable"
	// ContentionPressure is the share of time in which some task waited for a CPU
	// (pressure stall information). The kernel counts it on each CPU apart, so
	// that any number of waiting tasks on one CPU of two makes a half. A kernel
	// that has none leaves utilisation alone.
	ContentionPressure CPUContention = "pressure"
)

// MemoryMode selects what the memory channel measures.
type MemoryMode string

const (
	// MemoryAvailable is 1 − MemAvailable/MemTotal.
	MemoryAvailable MemoryMode = "available"
	// MemoryFree is 1 − (MemFree + Buffers + Cached)/MemTotal, the definition of the
	// thesis that Spazio comes from; it counts shared memory as free.
	MemoryFree MemoryMode = "free"
)

// CPUCounter selects the counter behind CPU utilisation. Steal, the time in which
// the hypervisor ran other machines, is busy in all: where a counter leaves it
// out it is added from /proc/stat.
type CPUCounter string

const (
	// CounterAuto takes the finest there is: CounterCpuacct, else
	// CounterCgroup, else CounterStat.
	CounterAuto CPUCounter = "auto"
	// CounterCgroup is usage_usec in cpu.stat of the root of cgroup v2 (Linux
	// 5.8 on). It moves in steps of the kernel's tick (4 ms at 250 Hz).
	CounterCgroup CPUCounter = "cgroup"
	// CounterStat is the first line of /proc/stat, in steps of 10 ms.
	CounterStat CPUCounter = "stat"
	// CounterCpuacct is cpuacct.usage of the root of cgroup v1, also in the
	// hybrid layout: what the scheduler measured in ns at every switch and
	// tick, so that tasks which run for less than a tick count as long as they
	// ran. Where the kernel accounts for interrupt time apart, that is not in it.
	CounterCpuacct CPUCounter = "cpuacct"
)

// oneOf refuses a word that is none of those that a field may have.
func oneOf[T ~string](field string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return NewFieldError(field, value, fmt.Sprintf("not one of %v", allowed))
}
