package install

import (
	"os"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

func TestMain(m *testing.M) {
	if os.Getenv(asSpazio) != "" {
		command.Main(spazioctl.PluginMain)
	}
	cluster.Main(m, embedded.Config{RBAC: true})
}
