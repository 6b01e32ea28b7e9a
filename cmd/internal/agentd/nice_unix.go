//go:build unix && !linux

package agentd

import (
	"fmt"
	"syscall"
)

// setNiceness gives the process the niceness n. Values lower than the present one
// take a privilege.
func setNiceness(n int) error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, n); err != nil {
		return fmt.Errorf("--nice %d: %w", n, err)
	}
	return nil
}
