package burn

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// childAttr makes the child the leader of its own group, out of reach of the
// terminal's Ctrl-C, and has the kernel kill it when its parent's thread ends.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// niceness is the lowest priority there is.
const niceness = 19

// Nice lowers the priority of the process to the least. On Linux each thread
// has a priority of its own; those still to come inherit it.
func Nice() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("burn: %w", err)
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("burn: lower the priority: %w", err)
		}
	}
	return nil
}
