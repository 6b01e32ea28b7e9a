// Package aggregatord is the command spazio-aggregator: the flags of package
// cmd/aggregator/service.
package aggregatord

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/aggregator/service"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	shared "github.com/spazio-scheduler/spazio/cmd/internal/flags"
)

// Main runs the command until it fails or ctx ends, and returns its exit code.
var Main = command.Program(NewCommand)

// NewCommand returns the command with its flags at their defaults.
func NewCommand() *cobra.Command {
	config := service.Config{Listen: "127.0.0.1:9692", DebugListen: "127.0.0.1:9693"}
	var log command.Log
	c := &cobra.Command{
		Use:   "spazio-aggregator",
		Short: "Merge the nodes' models of their load into the fleet's",
		Long: "spazio-aggregator takes in the local models that agents push, merges them off the\n" +
			"request path, and answers each push with the latest model and pod costs of the fleet.\n" +
			"Replicas that know each other exchange the models of their nodes.",
		RunE: func(c *cobra.Command, _ []string) error {
			logger, err := log.Logger(c.ErrOrStderr())
			if err != nil {
				return err
			}
			config.Logger, config.DebugDefault = logger, !c.Flags().Changed("debug-listen")
			if err := config.Validate(); err != nil {
				return command.Usage(err)
			}
			aggregator, err := service.New(c.Context(), config)
			if err != nil {
				return shared.RefusedTLS(err)
			}
			return aggregator.Run(c.Context())
		},
	}
	flags := c.Flags()
	flags.StringVar(&config.Listen, "listen", config.Listen, "host:port of the ModelService")
	flags.StringVar(&config.MetricsListen, "metrics-listen", config.MetricsListen, "host:port of /metrics, /healthz and /readyz, in plaintext and also beyond loopback, such as :9701; empty for none")
	flags.StringVar(&config.DebugListen, "debug-listen", config.DebugListen, "host:port of "+modelserver.DebugPath+", the models as JSON, /metrics, /healthz and /readyz, on loopback; empty for none")
	options := &config.Server.Aggregate
	flags.DurationVar(&options.HalfLife, "half-life", 0, "silence after which a node weighs half (default 5m)")
	flags.IntVar(&options.MaxNodes, "max-nodes", 0, "most nodes kept (default 20000)")
	flags.StringSliceVar(&config.Peers.Targets, "peer", nil, "host:port of another replica, or dns:///name:port of all; repeatable, may name this one")
	flags.StringVar(&config.Snapshot, "snapshot", "", "file that the state is kept in across restarts; empty for none")
	flags.DurationVar(&config.SnapshotInterval, "snapshot-interval", 0, "time between snapshots (default 10s)")
	shared.TLSReplica(flags, &config.Callers.Transport)
	flags.StringVar(&config.Callers.ServiceAccount, "agent-service-account", "", "namespace/name of the service account whose tokens the agents show, each for its own node; empty asks for none")
	flags.StringVar(&config.Kubeconfig, "kubeconfig", "", "leads to the API server that reviews the tokens (default the pod's own)")
	flags.StringSliceVar(&config.Callers.Peers, "peer-name", nil, "name of the replicas' service, which another replica's certificate must be for; repeatable (default the hosts of --peer)")
	flags.IntVar(&config.Callers.Limits.Connections, "max-connections", 0, fmt.Sprintf("most connections (default %d)", transport.DefaultConnections))
	command.LogFlags(flags, &log)
	return command.Serves(c)
}
