package failures

import (
	"flag"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

var schedulerProgram = flag.String("scheduler", "", "program for TestKilled in place of this tree's spazio-scheduler, such as that of an image")

func TestMain(m *testing.M) { cluster.Main(m, embedded.Config{}) }
