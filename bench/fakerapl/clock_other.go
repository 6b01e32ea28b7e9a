//go:build !linux

package main

import (
	"errors"
	"time"
)

func threadTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
func pin([]int) error                    { return errors.ErrUnsupported }
func lower() error                       { return errors.ErrUnsupported }
func prefer()                            {}
