// Package external holds the interface /external/v1 to its contract on a real API server:
// spazio-testbed with the rights of the manifests, callers with tokens of their own.
package external

import (
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

func TestMain(m *testing.M) { cluster.Main(m, embedded.Config{RBAC: true, Audit: audited.add}) }
