//go:build unix && !linux

package burn

import (
	"fmt"
	"syscall"
)

func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Nice lowers the priority of the process to the least.
func Nice() error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19); err != nil {
		return fmt.Errorf("burn: lower the priority: %w", err)
	}
	return nil
}
