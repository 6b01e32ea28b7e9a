// Package sociald is spazio-social: replicas of package compare/social, and the sender of
// the load on it, as what pods run.
package sociald

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// Main runs the program.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return command.Execute(ctx, NewCommand(), args, stdout, stderr)
}

// NewCommand returns the command spazio-social.
func NewCommand() *cobra.Command {
	var tier, listen, services string
	root := &cobra.Command{
		Use: "spazio-social", Short: "Run a replica of a small social network", Args: cobra.NoArgs,
		Long: "A replica of a tier of a small social network, that burns a stated CPU time for each\nrequest and calls other tiers.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			peers, err := social.NewServices(services)
			if err != nil {
				return command.Usage(err)
			}
			s, err := social.NewServer(tier, peers)
			if err != nil {
				return command.Usage(err)
			}
			return social.Serve(cmd.Context(), listen, s, say(cmd.OutOrStdout()))
		},
	}
	loads := &cobra.Command{
		Use: "load", Short: "Send requests to replicas for whoever asks at " + social.LoadPath, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return social.Serve(cmd.Context(), listen, social.LoadHandler(), say(cmd.OutOrStdout()))
		},
	}
	root.PersistentFlags().StringVar(&listen, "listen", ":8080", "host:port to serve at")
	root.Flags().StringVar(&tier, "tier", social.Front, fmt.Sprintf("which tier it is of: %v", social.Tiers()))
	root.Flags().StringVar(&services, "services", "*:8080", "addresses of the tiers' services, a star for the tier")
	root.AddCommand(command.Serves(loads))
	return command.Serves(root)
}

// say says where it serves.
func say(out io.Writer) func(string) error {
	return func(address string) error {
		_, err := fmt.Fprintln(out, address)
		return err
	}
}
