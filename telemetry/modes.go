package telemetry

import (
	"fmt"
	"strings"
)

// CPUMode selects what the cpu channel measures.
type CPUMode int

const (
	// CPUHalf is (utilisation + contention)/2.
	CPUHalf CPUMode = iota
	// CPUUtilisation is the share of CPU time that was not idle.
	CPUUtilisation
	// CPUContended is contention alone.
	CPUContended
)

var cpuModes = []string{"half", "utilisation", "contention"}

// String returns the mode's name: half, utilisation or contention.
func (m CPUMode) String() string { return nameOf(cpuModes, int(m)) }

// ParseCPUMode is the inverse of [CPUMode.String].
func ParseCPUMode(s string) (CPUMode, error) {
	i, err := indexOf(cpuModes, "CPU mode", s)
	return CPUMode(i), err
}

// CPUContention selects what the cpu channel takes for contention.
type CPUContention int

const (
	// ContentionRunnable is the number of tasks that waited for a CPU, a CPU, at
	// most 1: those that could run (procs_running of /proc/stat, the mean of the
	// last readings) less those that did.
	ContentionRunnable CPUContention = iota
	// ContentionPressure is the share of time in which some task waited for a CPU
	// (pressure stall information). The kernel counts it on each CPU apart, so
	// that any number of waiting tasks on one CPU of two makes a half. A kernel
	// that has none leaves utilisation alone.
	ContentionPressure
)

var cpuContentions = []string{"runnable", "pressure"}

// String returns the name: runnable or pressure.
func (c CPUContention) String() string { return nameOf(cpuContentions, int(c)) }

// ParseCPUContention is the inverse of [CPUContention.String].
func ParseCPUContention(s string) (CPUContention, error) {
	i, err := indexOf(cpuContentions, "CPU contention", s)
	return CPUContention(i), err
}

// MemoryMode selects what the memory channel measures.
type MemoryMode int

const (
	// MemoryAvailable is 1 − MemAvailable/MemTotal.
	MemoryAvailable MemoryMode = iota
	// MemoryFree is 1 − (MemFree + Buffers + Cached)/MemTotal, the definition of the
	// thesis that Spazio comes from; it counts shared memory as free.
	MemoryFree
)

var memoryModes = []string{"available", "free"}

// String returns the mode's name: available or free.
func (m MemoryMode) String() string { return nameOf(memoryModes, int(m)) }

// ParseMemoryMode is the inverse of [MemoryMode.String].
func ParseMemoryMode(s string) (MemoryMode, error) {
	i, err := indexOf(memoryModes, "memory mode", s)
	return MemoryMode(i), err
}

// CPUCounter selects the counter behind CPU utilisation. Steal, the time in which
// the hypervisor ran other machines, is busy in all: where a counter leaves it
// out it is added from /proc/stat.
type CPUCounter int

const (
	// CounterAuto takes the finest there is: CounterCpuacct, else
	// CounterCgroup, else CounterStat.
	CounterAuto CPUCounter = iota
	// CounterCgroup is usage_usec in cpu.stat of the root of cgroup v2 (Linux
	// 5.8 on). It moves in steps of the kernel's tick (4 ms at 250 Hz).
	CounterCgroup
	// CounterStat is the first line of /proc/stat, in steps of 10 ms.
	CounterStat
	// CounterCpuacct is cpuacct.usage of the root of cgroup v1, also in the
	// hybrid layout: what the scheduler measured in ns at every switch and
	// tick, so that tasks which run for less than a tick count as long as they
	// ran. Where the kernel accounts for interrupt time apart, that is not in it.
	CounterCpuacct
)

var cpuCounters = []string{"auto", "cgroup", "stat", "cpuacct"}

// String returns the counter's name: auto, cgroup, stat or cpuacct.
func (c CPUCounter) String() string { return nameOf(cpuCounters, int(c)) }

// ParseCPUCounter is the inverse of [CPUCounter.String].
func ParseCPUCounter(s string) (CPUCounter, error) {
	i, err := indexOf(cpuCounters, "CPU counter", s)
	return CPUCounter(i), err
}

func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}

func indexOf(names []string, field, s string) (int, error) {
	for i, n := range names {
		if n == s {
			return i, nil
		}
	}
	return 0, NewFieldError(field, fmt.Sprintf("%q", s), "not one of "+strings.Join(names, ", "))
}
