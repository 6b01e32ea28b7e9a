//go:build !linux

package main

import (
	"errors"
	"time"
)

func processTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
func threadTime() (time.Duration, error)     { return 0, errors.ErrUnsupported }
func onlineCPUs() ([]int, error)             { return nil, errors.ErrUnsupported }
func pin([]int) error                        { return errors.ErrUnsupported }
func lower() error                           { return errors.ErrUnsupported }
func prefer()                                {}
