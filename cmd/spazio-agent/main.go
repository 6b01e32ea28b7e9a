// Command spazio-agent measures the node it runs on and publishes how many pods
// still fit.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func main() { command.Main(agentd.Main) }
