package agentd_test

import (
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// role makes the test binary one of its own child processes.
const role = "SPAZIO_AGENTD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "agent":
		serve.Main(agentd.Main)
	case "burn":
		var ended atomic.Bool
		go func() { // with the test, however that ends
			_, _ = io.Copy(io.Discard, os.Stdin)
			ended.Store(true)
		}()
		for !ended.Load() {
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
