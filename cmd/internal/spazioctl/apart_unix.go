//go:build unix

package spazioctl

import "syscall"

// apart keeps a terminal's Ctrl-C from a program that lives on: it leads a group of its own.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
