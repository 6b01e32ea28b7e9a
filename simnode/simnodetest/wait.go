package simnodetest

import (
	"testing"
	"time"
)

// Patience is how long anything may take before a test gives up on it; it is
// no expectation.
const Patience = 3 * time.Minute

// Eventually waits until the condition holds; what it returns otherwise is
// printed when patience ends.
func Eventually(t testing.TB, what string, condition func() (ok bool, state any)) {
	t.Helper()
	began := time.Now()
	for {
		ok, state := condition()
		if ok {
			return
		}
		waited := time.Since(began)
		if waited > Patience {
			t.Fatalf("%s: not within %v; now %+v", what, Patience, state)
		}
		time.Sleep(pause(waited))
	}
}

// pause is until a condition is looked at again: a twentieth of what it was waited for, so
// that looking, which is mostly a request, takes less of the machine than what is waited for.
func pause(waited time.Duration) time.Duration {
	return min(max(waited/20, 2*time.Millisecond), 25*time.Millisecond)
}
