package social

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Requests take their configured CPU time and HTTP's.
func TestRequestsBurn(t *testing.T) {
	n := newNetwork(t)
	const requests = 25
	began := own(t)
	for range requests {
		get(t, n.front, "read")
	}
	took, want := own(t)-began, requests*4*time.Millisecond
	if took < want {
		t.Errorf("%v of CPU time for %d requests, want %v at least", took, requests, want)
	}
	t.Logf("%v a request more than the %v that it burns", (took-want)/requests, want/requests)
}

func own(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
