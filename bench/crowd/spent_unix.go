//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

func spent() (usage, error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return usage{}, err
	}
	return usage{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), switches: r.Nivcsw}, nil
}
