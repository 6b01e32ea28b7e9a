package agentd_test

import (
	"os"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// role makes the test binary one of its own child processes.
const role = "SPAZIO_AGENTD_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "agent" {
		command.Main(agentd.Main)
	}
	os.Exit(m.Run())
}
