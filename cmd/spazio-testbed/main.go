// Command spazio-testbed runs the controllers of test beds: it reserves slots on nodes, and
// runs in them the jobs that Schedulings name.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/testbedd"
)

func main() { command.Main(testbedd.Main) }
