package node

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// setNiceness gives the process the niceness n. Values lower than the present one
// take a privilege. On Linux each thread
// has a niceness of its own, which it passes on to the threads it starts, so
// that threads are looked for until there are no others.
func setNiceness(n int) error {
	done := map[int]bool{}
	for fresh := true; fresh; {
		fresh = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("node: niceness: %w", err)
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil || done[id] {
				continue
			}
			// A thread may have ended meanwhile.
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, n); err != nil && err != syscall.ESRCH {
				return fmt.Errorf("node: niceness %d: %w", n, err)
			}
			done[id], fresh = true, true
		}
	}
	return nil
}
