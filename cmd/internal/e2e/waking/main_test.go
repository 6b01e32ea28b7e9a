package waking

import (
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
