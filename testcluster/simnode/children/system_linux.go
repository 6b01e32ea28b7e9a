package children

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/field"
)

const supported = true

// bound has the kernel kill the child with the thread that started it, and keeps the
// terminal's Ctrl-C from it.
func bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// apart is for a child that outlives its parent.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// affinity are the CPUs that this thread may run on.
func affinity() ([]int, error) {
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

// pin keeps this thread, and what it starts, on the CPUs.
func pin(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return &field.Error{Package: "children", Field: "CPUs", Value: cpus, Err: fmt.Errorf("%w: %w", errInvalid, err)}
	}
	return nil
}

// processTime is the CPU time of all threads of a process, to the nanosecond.
func processTime(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED of clock_getcpuclockid(3)
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduler), &t)
	return time.Duration(t.Nano()), err
}

// CPUs are those that this process may run on.
func CPUs() ([]int, error) { return affinity() }

// CPUTime is the CPU time that a process, not only one of a group, has taken so far.
func CPUTime(pid int) (time.Duration, error) { return processTime(pid) }

// OwnCPUTime is that of this process.
func OwnCPUTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
}
