package plugin_test

import (
	"syscall"
	"testing"
	"time"
)

// threadTime returns the processor time of the calling thread, which other load
// on the machine changes far less than the time that passes.
func threadTime(b *testing.B) time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if err := syscall.Getrusage(thisThread, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
