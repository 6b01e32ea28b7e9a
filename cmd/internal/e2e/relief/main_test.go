package relief

import (
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

func TestMain(m *testing.M) { cluster.Main(m, embedded.Config{RBAC: true}) }
