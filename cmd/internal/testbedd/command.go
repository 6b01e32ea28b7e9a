// Package testbedd is the command spazio-testbed: flags around package cmd/testbed/service.
package testbedd

import (
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	shared "github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/cmd/testbed/service"
	"github.com/spazio-scheduler/spazio/operator/controller"
)

// Main runs the command until it fails or ctx ends, and returns its exit code.
var Main = command.Program(NewCommand)

// NewCommand returns the command with its flags at their defaults.
func NewCommand() *cobra.Command {
	config := service.Config{MetricsListen: "127.0.0.1:9704", External: service.External{Listen: "127.0.0.1:9695"}}
	var log command.Log
	c := &cobra.Command{
		Use:   "spazio-testbed",
		Short: "Reserve slots on nodes, and run in them the jobs that Schedulings name",
		Long: "spazio-testbed is the controller of Testbeds, BatchJobs and Schedulings: it reserves slots\n" +
			"on nodes by placeholder pods, grants slots to jobs, and creates and watches what runs them.\n" +
			"Of several replicas with --leader-elect one works, and the others stand by with all objects\n" +
			"read. All of them serve the external scheduler API, /external/v1 at --listen.",
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if config.Logger, err = log.Logger(c.ErrOrStderr()); err != nil {
				return err
			}
			klog.SetSlogLogger(config.Logger)
			ctrllog.SetLogger(logr.FromSlogHandler(config.Logger.Handler()))
			config.External.SeedPaths = config.External.DefaultNamespace != ""
			config.External.Default, config.MetricsDefault = !c.Flags().Changed("listen"), !c.Flags().Changed("metrics-listen")
			if err := config.Validate(); err != nil {
				return command.Usage(err)
			}
			s, err := service.New(c.Context(), config)
			if err != nil {
				return shared.RefusedTLS(err)
			}
			return s.Run(c.Context())
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&config.Namespaces, "namespaces", nil, "namespaces whose objects are served (default all)")
	flags.StringVar(&config.PlaceholderImage, "placeholder-image", controller.DefaultPlaceholderImage, "image of the placeholder pods, preferably one that nodes already have; it must do nothing until it is stopped")
	flags.BoolVar(&config.LeaderElect, "leader-elect", false, "work only while this process has the lease "+service.LeaseName)
	flags.StringVar(&config.LeaseNamespace, "lease-namespace", "", "namespace of the lease (default the pod's own)")
	flags.StringVar(&config.Kubeconfig, "kubeconfig", "", "leads to the API server (default the pod's own)")
	flags.StringVar(&config.Rooms.Target, "signal", "", "host:port of the scheduler that streams the nodes' measured room, for Testbeds with slotsPerNode: auto; empty for none")
	flags.StringVar(&config.Rooms.TokenFile, "token-file", "", "file with the service account token that the scheduler of --signal asks for; needs TLS")
	flags.StringVar(&config.External.Listen, "listen", config.External.Listen, "host:port of the external scheduler's interface, beyond loopback by --tls-dir; empty for none")
	flags.BoolVar(&config.External.UI, "ui", false, "serve pages for people at /ui/ of --listen")
	flags.StringVar(&config.External.DefaultNamespace, "seed-paths", "", "serve the thesis's paths, too, for the objects of this namespace: /external/testbeds, /scheduler and so on; empty for not")
	shared.TLSClient(flags, &config.Transport)
	flags.Lookup("tls-dir").Usage = "directory of tls.crt and tls.key, the interface's own certificate, which is also " +
		"shown to the scheduler of --signal if there is no --token-file; and of ca.crt, the authorities that the " +
		"scheduler's certificate must come from; empty for plaintext"
	flags.StringVar(&config.MetricsListen, "metrics-listen", config.MetricsListen, "host:port of /metrics, /healthz and /readyz, in plaintext and also beyond loopback, such as :9704; empty for none")
	command.LogFlags(flags, &log)
	return command.Serves(c)
}
