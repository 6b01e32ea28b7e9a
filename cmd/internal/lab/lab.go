// Package lab holds the commands of spazio-lab: experiments in the simulator, the
// thesis's figures, recordings replayed, recommenders and rejections evaluated. They are flags, wiring and exit codes;
// packages sim/experiment, sim/prediction, agent/recording and profile/replay compute, the module report presents.
//
// It imports nothing of Kubernetes.
package lab

import (
	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// Main runs the program spazio-lab and returns its exit code.
var Main = command.Program(NewCommand)

// NewCommand returns the program with its flags at their defaults.
func NewCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "spazio-lab",
		Short: "Simulate clusters, draw figures, replay recordings",
	}
	root.AddCommand(newSimulateCommand(), newFiguresCommand(), newReplayCommand(), newProfileCommand(), newProntoCommand())
	return root
}
