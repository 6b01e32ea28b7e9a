package demo

import (
	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/simnode/burn"
)

// newBurnCommand returns the subcommand that the pods of the real node run.
func newBurnCommand() *cobra.Command {
	return &cobra.Command{
		Use:                burn.Command,
		Short:              "Burn CPU time as a pod of the real node",
		Hidden:             true,
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			return burn.Child(c.Context(), args, c.InOrStdin(), c.OutOrStdout())
		},
	}
}
