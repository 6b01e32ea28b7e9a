package burn

import "syscall"

// childAttr makes the child the leader of its own group, out of reach of the
// terminal's Ctrl-C, and has the kernel kill it when its parent's thread ends.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
