// Package certs is the command spazio-certs.
package certs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/api/kube/authority"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// Main runs the command and returns its exit code.
var Main = command.Program(NewCommand)

type options struct {
	config         authority.Config
	servers, peers []string
	kubeconfig     string
	log            command.Log
}

// NewCommand returns the command with its flags at their defaults.
func NewCommand() *cobra.Command {
	o := options{}
	c := &cobra.Command{
		Use:   "spazio-certs",
		Short: "Make and replace the certificates of Spazio's servers, and exit",
		Long: "spazio-certs replaces the authority, the servers' certificates and the trust bundles that\n" +
			"are due, and exits. The Secrets and ConfigMaps must exist, and may be empty: it needs the\n" +
			"right to get and update them by name, and creates none. Run it once a day; it may fail for\n" +
			"some weeks without harm.",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.config.Namespace, "namespace", "spazio-system", "where the servers and the Secrets are")
	flags.StringVar(&o.config.AgentNamespace, "agent-namespace", "spazio-agent", "where the agents are; empty if that is --namespace")
	flags.StringVar(&o.config.ClusterDomain, "cluster-domain", "cluster.local", "what the names of services end with")
	flags.StringArrayVar(&o.servers, "server", []string{"spazio-scheduler"}, "server whose certificate is in Secret NAME-tls, with further services that lead to it, as NAME,SERVICE,...; repeatable")
	flags.StringArrayVar(&o.peers, "peer", []string{"spazio-aggregator,spazio-aggregator-peers"}, "like --server, of a server that also shows its certificate as a client")
	flags.BoolVar(&o.config.DryRun, "dry-run", false, "show what would be changed, and change nothing")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "leads to the API server (default the pod's own)")
	command.LogFlags(flags, &o.log)
	return c
}

func (o options) run(ctx context.Context, stdout, stderr io.Writer) error {
	logger, err := o.log.Logger(stderr)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return command.Usage(fmt.Errorf("reach the API server: %w", err))
	}
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return command.Usage(fmt.Errorf("reach the API server: %w", err))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	o.config.Logger = logger
	o.config.Servers = append(named(o.servers, false), named(o.peers, true)...)
	changes, err := authority.Ensure(ctx, client, o.config)
	if errors.Is(err, authority.ErrInvalid) {
		return command.Usage(err)
	}
	if err != nil && len(changes) == 0 {
		return err
	}
	return errors.Join(show(stdout, changes), err)
}

// named are the servers of flags, each NAME[,SERVICE]...
func named(flags []string, client bool) (servers []authority.Server) {
	for _, f := range flags {
		services := strings.Split(f, ",")
		servers = append(servers, authority.Server{Name: services[0], Services: services[1:], Client: client})
	}
	return servers
}

// show prints what was changed, also before a failure.
func show(out io.Writer, changes []authority.Change) error {
	if len(changes) == 0 {
		_, err := fmt.Fprintln(out, "Nothing to do.")
		return err
	}
	for _, c := range changes {
		if _, err := fmt.Fprintf(out, "%-12s %-24s %s\n", c.Kind, c.Name, c.Reason); err != nil {
			return err
		}
	}
	return nil
}
