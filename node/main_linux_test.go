package node_test

import (
	"io"
	"os"
	"sync/atomic"
	"testing"
)

// role makes the test binary one of its own child processes.
const role = "SPAZIO_NODE_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "burn" {
		var ended atomic.Bool
		go func() { // the process exits with the test, however the test ends
			_, _ = io.Copy(io.Discard, os.Stdin)
			ended.Store(true)
		}()
		for !ended.Load() {
		}
		os.Exit(0)
	}
	if os.Getenv(role) == limited {
		limitThis()
		os.Exit(0)
	}
	os.Exit(m.Run())
}
