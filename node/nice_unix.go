//go:build unix && !linux

package node

import (
	"fmt"
	"syscall"
)

// setNiceness gives the process the niceness n. Values lower than the present one
// take a privilege.
func setNiceness(n int) error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, n); err != nil {
		return fmt.Errorf("node: niceness %d: %w", n, err)
	}
	return nil
}
