// Command kubectl-spazio is the program spazio as a plugin of kubectl: on the
// PATH, it is "kubectl spazio".
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
)

func main() { serve.Main(spazioctl.PluginMain) }
