package telemetry

import (
	"fmt"
	"strings"
)

// CPUMode selects what the cpu channel measures.
type CPUMode int

const (
	// CPUHalf is (utilisation + pressure)/2, or utilisation alone where the
	// kernel has no pressure stall information.
	CPUHalf CPUMode = iota
	// CPUUtilisation is the share of CPU time that was not idle.
	CPUUtilisation
	// CPUPressure is the share of time in which some task waited for a CPU.
	CPUPressure
)

var cpuModes = []string{"half", "utilisation", "pressure"}

// String returns the mode's name: half, utilisation or pressure.
func (m CPUMode) String() string { return nameOf(cpuModes, int(m)) }

// ParseCPUMode is the inverse of [CPUMode.String].
func ParseCPUMode(s string) (CPUMode, error) {
	i, err := indexOf(cpuModes, "CPU mode", s)
	return CPUMode(i), err
}

// MemoryMode selects what the memory channel measures.
type MemoryMode int

const (
	// MemoryAvailable is 1 − MemAvailable/MemTotal.
	MemoryAvailable MemoryMode = iota
	// MemoryFree is 1 − (MemFree + Buffers + Cached)/MemTotal, the thesis's
	// definition; it counts shared memory as free.
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

// CPUCounter selects the counter behind CPU utilisation.
type CPUCounter int

const (
	// CounterAuto takes the finest there is: CounterCpuacct, else
	// CounterCgroup, else CounterStat.
	CounterAuto CPUCounter = iota
	// CounterCgroup is usage_usec in cpu.stat of the root of cgroup v2 (Linux
	// 5.8 on). It moves in steps of the kernel's tick (4 ms at 250 Hz), and
	// reading it does not make the kernel sum up every interrupt as /proc/stat
	// does. Whether steal time is in it depends on the kernel (since 6.15 it is
	// not).
	CounterCgroup
	// CounterStat is the first line of /proc/stat, in steps of 10 ms; steal
	// time counts as busy.
	CounterStat
	// CounterCpuacct is cpuacct.usage of the root of cgroup v1, also in the
	// hybrid layout: what the scheduler measured in ns at every switch and
	// tick, so that tasks which run for less than a tick count as long as they
	// ran. Steal time is not in it, nor, where the kernel accounts for it
	// apart, interrupt time.
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
