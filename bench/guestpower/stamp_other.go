//go:build !linux

package main

import "errors"

func published(string) (stamp, error) { return stamp{}, errors.ErrUnsupported }
