//go:build unix && !linux

package nice

import (
	"fmt"
	"syscall"
)

// Set gives the process the niceness n, -20 to 19; 19 is the lowest priority,
// and lower values than the present one take a privilege. It is safe for
// concurrent use.
func Set(n int) error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, n); err != nil {
		return fmt.Errorf("nice: set the niceness to %d: %w", n, err)
	}
	return nil
}
