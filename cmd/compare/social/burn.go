package social

import (
	"runtime"
	"sync/atomic"
	"time"
)

// burn takes so much CPU time of the thread that it runs on.
func burn(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, err := threadTime()
	for now := began; err == nil && now-began < d; now, err = threadTime() {
		work()
	}
	return err
}

// work takes some ten microseconds, so that a server does more than to look at the clock.
func work() {
	x := uint64(1)
	for range 1 << 13 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink.Store(x)
}

// sink keeps the compiler from leaving work out.
var sink atomic.Uint64
