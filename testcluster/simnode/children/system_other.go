//go:build !linux

package children

import (
	"syscall"
	"time"
)

const supported = false

func bound() *syscall.SysProcAttr { return nil }

func apart() *syscall.SysProcAttr { return nil }

func affinity() ([]int, error) { return nil, ErrUnsupported }

func pin([]int) error { return ErrUnsupported }

func processTime(int) (time.Duration, error) { return 0, ErrUnsupported }

// CPUs are those that this process may run on.
func CPUs() ([]int, error) { return nil, ErrUnsupported }

// CPUTime is the CPU time that a process, not only one of a group, has taken so far.
func CPUTime(int) (time.Duration, error) { return 0, ErrUnsupported }

// OwnCPUTime is that of this process.
func OwnCPUTime() (time.Duration, error) { return 0, ErrUnsupported }
