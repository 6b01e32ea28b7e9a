//go:build !unix

package spazioctl

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
