package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the CPU time of this thread.
func threadTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
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
