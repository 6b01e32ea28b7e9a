//go:build !linux

package children

import (
	"syscall"
	"time"
)

const supported = false

func bound() *syscall.SysProcAttr { return nil }

func apart() *syscall.SysProcAttr { return nil }

func pin([]int) error { return errUnsupported }

// CPUs returns the CPUs that this thread may run on.
func CPUs() ([]int, error) { return nil, errUnsupported }

// CPUTime returns the CPU time that a process has taken so far.
func CPUTime(int) (time.Duration, error) { return 0, errUnsupported }

// OwnCPUTime returns the CPU time of this process.
func OwnCPUTime() (time.Duration, error) { return 0, errUnsupported }
