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
	deadline := time.Now().Add(Patience)
	for {
		ok, state := condition()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v; now %+v", what, Patience, state)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
