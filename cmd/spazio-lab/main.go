// Command spazio-lab is the laboratory: it simulates clusters, draws figures,
// replays the recordings of agents, and evaluates recommenders and Pronto. It needs no cluster and builds without
// Kubernetes' libraries.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
)

func main() { command.Main(lab.Main) }
