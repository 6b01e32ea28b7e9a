// Command spazio-lab is the laboratory: it simulates clusters, draws figures,
// replays the recordings of agents, and evaluates recommenders and Pronto. It needs no cluster and builds without
// Kubernetes' libraries.
package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
)

func main() { command.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:     "spazio-lab",
		Short:   "Simulate clusters, draw figures, replay recordings",
		Version: command.Version(),
	}
	root.AddCommand(lab.NewSimulateCommand(), lab.NewFiguresCommand(), lab.NewReplayCommand(),
		lab.NewProfileCommand(), lab.NewProntoCommand())
	return command.Execute(ctx, root, args, stdout, stderr)
}
