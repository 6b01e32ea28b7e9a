// Command kubectl-spazio is the program spazio as a plugin of kubectl: on the
// PATH, it is "kubectl spazio".
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
)

func main() { command.Main(spazioctl.PluginMain) }
