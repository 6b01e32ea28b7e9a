// Command spazio-lab is the laboratory: it simulates clusters, draws figures,
// replays the recordings of agents and evaluates recommenders. It needs no cluster and builds without
// Kubernetes' libraries.
package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

func main() { serve.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:     "spazio-lab",
		Short:   "Simulate clusters, draw figures, replay recordings",
		Version: serve.Version(),
	}
	root.AddCommand(lab.NewSimulateCommand(), lab.NewFiguresCommand(), lab.NewReplayCommand(),
		lab.NewProfileCommand())
	return serve.Execute(ctx, root, args, stdout, stderr)
}
