package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime is the CPU time of all threads of a process, to the nanosecond.
func processTime(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED of clock_getcpuclockid(3)
	return clock(int32(^pid<<3 | scheduler))
}

// threadTime is the CPU time of this thread.
func threadTime() (time.Duration, error) { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func clock(id int32) (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(id, &t)
	return time.Duration(t.Nano()), err
}

// onlineCPUs are those that this process may run on.
func onlineCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// pin keeps this thread on the CPUs.
func pin(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(0, &set)
}

// lower has this thread run after others.
func lower() error {
	const niceness = 5
	return unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
}

// prefer has this thread run ahead of others, where that is permitted: a reading that is
// late by a tenth of a second makes no interval.
func prefer() {
	const niceness = -10
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
}
