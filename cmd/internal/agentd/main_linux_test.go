package agentd_test

import (
	"io"
	"os"
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
		ended := make(chan struct{})
		go func() { // with the test, however that ends
			_, _ = io.Copy(io.Discard, os.Stdin)
			close(ended)
		}()
		for {
			select {
			case <-ended:
				os.Exit(0)
			default:
			}
		}
	}
	os.Exit(m.Run())
}
