//go:build !linux

package main

import (
	"errors"
	"syscall"
	"time"
)

func becomeIdle() error { return errors.ErrUnsupported }

func childAttr() *syscall.SysProcAttr { return nil }

func cpuTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
