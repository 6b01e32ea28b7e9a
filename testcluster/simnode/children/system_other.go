//go:build !linux

package children

import (
	"syscall"
	"time"
)

const supported = false

func bound() *syscall.SysProcAttr { return nil }

func apart() *syscall.SysProcAttr { return nil }

func affinity() ([]int, error) { return nil, errUnsupported }

func pin([]int) error { return errUnsupported }

func processTime(int) (time.Duration, error) { return 0, errUnsupported }

// CPUs are those that this process may run on.
func CPUs() ([]int, error) { return nil, errUnsupported }

// CPUTime is the CPU time that a process, not only one of a group, has taken so far.
func CPUTime(int) (time.Duration, error) { return 0, errUnsupported }

// OwnCPUTime is that of this process.
func OwnCPUTime() (time.Duration, error) { return 0, errUnsupported }
