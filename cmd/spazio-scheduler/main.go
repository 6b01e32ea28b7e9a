// Command spazio-scheduler is kube-scheduler with the plugin Spazio, which
// places pods by what their nodes measure.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
)

func main() { command.Main(schedulerd.Main) }
