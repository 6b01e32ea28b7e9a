package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeIdle moves the thread to the scheduling class that runs when no other
// wants to.
func becomeIdle() error {
	const schedIdle = 5
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: schedIdle}, 0)
}

// childAttr has the kernel kill a child whose parent is gone.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
