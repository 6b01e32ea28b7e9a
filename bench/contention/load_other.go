//go:build !linux

package main

import (
	"errors"
	"syscall"
)

func becomeIdle() error { return errors.ErrUnsupported }

func childAttr() *syscall.SysProcAttr { return nil }
