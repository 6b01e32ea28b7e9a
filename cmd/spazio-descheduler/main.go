// Command spazio-descheduler is the descheduler with the plugin SpazioRelief, which evicts pods from
// nodes that measure themselves as too full.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/deschedulerd"
)

func main() { command.Main(deschedulerd.Main) }
