package children

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/field"
)

const supported = true

// bound returns the attributes of a child that the kernel kills with the thread that started it, and
// that a terminal's Ctrl-C does not reach.
func bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// apart returns the attributes of a child that outlives its parent.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// CPUs returns the CPUs that this thread may run on.
func CPUs() ([]int, error) {
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

// CPUTime returns the CPU time that all threads of a process have taken so far, to the nanosecond. The
// process need not belong to a group.
func CPUTime(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED of clock_getcpuclockid(3)
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduler), &t)
	return time.Duration(t.Nano()), err
}

// OwnCPUTime returns the CPU time of this process.
func OwnCPUTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
}
