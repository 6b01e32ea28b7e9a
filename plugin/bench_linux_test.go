package plugin_test

import (
	"syscall"
	"testing"
	"time"
)

// threadTime returns the processor time of the calling thread, which depends much less on other load
// than elapsed time does.
func threadTime(b *testing.B) time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if err := syscall.Getrusage(thisThread, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
