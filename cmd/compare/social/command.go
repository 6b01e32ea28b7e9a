package social

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// Program runs spazio-testapp, the program of the pods: replicas, and the sender of the load on them.
var Program = command.Program(NewCommand)

// NewCommand returns the command spazio-testapp.
func NewCommand() *cobra.Command {
	var tier, listen, services string
	root := &cobra.Command{
		Use: "spazio-testapp", Short: "Run a replica of a small social network", Args: cobra.NoArgs,
		Long: "A replica of a tier of a small social network, that burns a stated CPU time for each\nrequest and calls other tiers.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			peers, err := newServices(services)
			if err != nil {
				return command.Usage(err)
			}
			s, err := newServer(tier, peers)
			if err != nil {
				return command.Usage(err)
			}
			return Serve(cmd.Context(), listen, s, announce(cmd.OutOrStdout()))
		},
	}
	loads := &cobra.Command{
		Use: "load", Short: "Send requests to replicas for whoever asks at " + LoadPath, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return Serve(cmd.Context(), listen, LoadHandler(), announce(cmd.OutOrStdout()))
		},
	}
	root.PersistentFlags().StringVar(&listen, "listen", ":8080", "host:port to serve at")
	root.Flags().StringVar(&tier, "tier", Front, fmt.Sprintf("which tier it is of: %v", Tiers()))
	root.Flags().StringVar(&services, "services", "*:8080", "addresses of the tiers' services, a star for the tier")
	root.AddCommand(command.Serves(loads))
	return command.Serves(root)
}

// announce returns a function that writes the address at which a server listens.
func announce(out io.Writer) func(string) error {
	return func(address string) error {
		_, err := fmt.Fprintln(out, address)
		return err
	}
}
