//go:build unix

package burn

import (
	"syscall"
	"time"
)

func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// setNiceness sets that of all threads of a child, which leads its own process
// group. On Linux, that of a process would be its first thread's alone.
func setNiceness(n int) error { return syscall.Setpriority(syscall.PRIO_PGRP, 0, n) }

// killGroup ends a child and whatever it started.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
