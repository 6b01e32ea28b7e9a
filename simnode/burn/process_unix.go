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

// killGroup ends a child and whatever it started.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
