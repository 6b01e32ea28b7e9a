// Command spazio-demo runs Spazio from end to end on one machine and compares
// it with the default scheduler.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
)

func main() { command.Main(demo.Main) }
