package main

import (
	"os"
	"syscall"
	"time"
)

// published tells the times of a file: its modification and its change, which is that of
// the rename that put it in place.
func published(path string) (stamp, error) {
	about, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	changed := about.Sys().(*syscall.Stat_t).Ctim //nolint:forcetypeassert // on Linux it is one
	return stamp{about.ModTime(), time.Unix(changed.Unix())}, nil
}
