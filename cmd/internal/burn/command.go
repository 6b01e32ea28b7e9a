package burn

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/nice"
)

// CommandName is the subcommand a child runs.
const CommandName = "burn"

// maxSeconds keeps the CPU time far from the end of its range: thirty years.
const maxSeconds = 1e9

// niceness is the lowest priority there is.
const niceness = 19

// NewCommand returns the subcommand that a [Machine]'s children run.
func NewCommand() *cobra.Command {
	var seconds float64
	var memory int64
	cmd := &cobra.Command{
		Use:    CommandName,
		Short:  "Burn CPU time as a pod of the real node",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(math.Abs(seconds) <= maxSeconds) {
				return fmt.Errorf("%w: %g CPU-seconds", ErrBadLoad, seconds)
			}
			if err := nice.Set(niceness); err != nil {
				return err
			}
			load := Load{CPU: time.Duration(seconds * float64(time.Second)), Memory: memory}
			return Run(WithParent(cmd.Context(), cmd.InOrStdin()), load, cmd.OutOrStdout())
		},
	}
	cmd.Flags().Float64Var(&seconds, "cpu-seconds", 0, "CPU time to burn, in seconds")
	cmd.Flags().Int64Var(&memory, "memory", 0, "memory to hold, in bytes")
	return cmd
}
