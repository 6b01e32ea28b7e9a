// Package pronto tests nodes that follow Pronto's rejection signal, from a sample to a
// bind.
package pronto

import (
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

func TestMain(m *testing.M) { cluster.Main(m, embedded.Config{}) }
