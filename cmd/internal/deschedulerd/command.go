// Package deschedulerd is the command spazio-descheduler: flags around package
// cmd/descheduler/service.
package deschedulerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the client's metrics
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/descheduler/service"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	shared "github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

// Main runs the command until it fails or ctx ends, and returns its exit code.
var Main = command.Program(NewCommand)

// NewCommand returns the command with its flags at their defaults.
func NewCommand() *cobra.Command {
	config := service.Config{Cycle: service.DefaultCycle}
	config.Args.Listen = "127.0.0.1:9690"
	var tls transport.Config
	var schedulerArgs, metrics string
	var log command.Log
	c := &cobra.Command{
		Use:   "spazio-descheduler",
		Short: "Evict pods from nodes that have become too full, if another node has room for them",
		Long: "spazio-descheduler is the Kubernetes descheduler with the plugin " + service.ReliefPlugin + ". Agents report\n" +
			"to it as to a scheduler. It evicts a pod only from a node whose measured room has been\n" +
			"negative for minutes, and only if another node has measured room for it. Begin with\n" +
			"--dry-run, which logs what would be evicted.",
		RunE: func(c *cobra.Command, _ []string) error {
			logger, err := log.Logger(c.ErrOrStderr())
			if err != nil {
				return err
			}
			klog.SetSlogLogger(logger)
			a, err := readArgs(schedulerArgs)
			if err != nil {
				return command.Usage(fmt.Errorf("--scheduler-args: %w", err))
			}
			a.Listen, a.AgentServiceAccount = config.Args.Listen, config.Args.AgentServiceAccount
			a.TLSCertFile, a.TLSKeyFile, a.TLSClientCAFile, a.Insecure = tls.CertFile, tls.KeyFile, tls.ClientCAFile, tls.Insecure
			config.Args = a
			if err := config.Validate(); err != nil {
				return command.Usage(err)
			}
			return shared.RefusedTLS(run(c.Context(), config, metrics))
		},
	}
	flags := c.Flags()
	flags.StringVar(&config.Kubeconfig, "kubeconfig", "", "leads to the API server (default the pod's own)")
	flags.StringVar(&config.PolicyFile, "policy-config-file", "", "file of the DeschedulerPolicy (default one with "+service.ReliefPlugin+" alone, which leaves pods with persistent volumes where they are)")
	flags.StringVar(&schedulerArgs, "scheduler-args", "", "file of the scheduler's SpazioArgs, by which nodes have room and pods demands, and that limit how often agents report; certificates and addresses are flags; empty for defaults")
	flags.DurationVar(&config.Cycle, "descheduling-interval", config.Cycle, "time between two looks at the nodes, at most the interval of "+service.ReliefPlugin)
	flags.BoolVar(&config.DryRun, "dry-run", false, "log what would be evicted and why, and evict nothing")
	flags.StringVar(&config.Args.Listen, "listen", config.Args.Listen, "host:port on which agents publish their reports")
	shared.TLSServer(flags, &tls)
	flags.StringVar(&config.Args.AgentServiceAccount, "agent-service-account", "", "namespace/name of the service account whose tokens the agents show, each for its own node; empty asks for none")
	flags.StringVar(&metrics, "metrics-listen", "", "host:port of /metrics, /healthz and /readyz, in plaintext and also beyond loopback, such as :9705; empty for none")
	command.LogFlags(flags, &log)
	return command.Serves(c)
}

// readArgs returns the arguments in a file, none without a file.
func readArgs(file string) (plugin.SpazioArgs, error) {
	if file == "" {
		return plugin.SpazioArgs{}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return plugin.SpazioArgs{}, err
	}
	return config.Decode[plugin.SpazioArgs](&runtime.Unknown{Raw: text})
}

// registerBuild adds the build of this program to the metrics.
var registerBuild = sync.OnceFunc(func() { legacyregistry.RawMustRegister(build.Info("spazio-descheduler")) })

// errNotReady is the answer of /readyz until the pods and nodes are known.
var errNotReady = errors.New("pods and nodes are not known yet")

func run(ctx context.Context, config service.Config, metrics string) error {
	// The descheduler would wrap what is wrong with the address in text alone.
	listener, err := transport.Listen(ctx, config.Args.Listen, config.Args.Transport())
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if err := listener.Close(); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	d, err := service.New(config)
	if err != nil {
		return err
	}
	registerBuild()
	ready := func() error {
		if !d.Hub().Ready() {
			return errNotReady
		}
		return nil
	}
	shown, err := endpoint.NewServers(ctx, endpoint.ServersConfig{
		Shown: endpoint.Config{Gatherer: legacyregistry.DefaultGatherer, Ready: ready}, Metrics: metrics,
	})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return shown.Run(ctx) })
	group.Go(func() error { return d.Run(ctx) })
	return group.Wait()
}
