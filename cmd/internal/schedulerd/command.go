package schedulerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the client's metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version's
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	shared "github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/slots"
)

// Main runs the command until it fails or the process gets SIGINT or SIGTERM,
// which kube-scheduler handles itself, and returns its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	logs.InitLogs()
	defer logs.FlushLogs()
	return command.Execute(ctx, NewCommand(), args, stdout, stderr)
}

// NewCommand returns kube-scheduler's command with the plugins in its registry.
// Without --config it uses a configuration with the profiles of Spazio and of slots
// alone, so that it can run beside a cluster's own scheduler.
func NewCommand() *cobra.Command {
	d := &defaultConfig{listen: config.DefaultListen}
	auto := &autoscaling{}
	hub := plugin.NewHub(plugin.HubOptions{Buffer: auto.bufferOf})
	debug := &debugServer{listen: defaultDebugListen, hub: hub}
	factory := func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		d.remove() // it has been read; at its end kube-scheduler may call os.Exit
		return auto.attach(hub)(ctx, args, handle)
	}
	c := app.NewSchedulerCommand(app.WithPlugin(plugin.Name, factory), app.WithPlugin(plugin.ShortestFirst, hub.NewShortestFirst),
		app.WithPlugin(slots.Name, slots.NewFactory(nil).New))
	c.Use = "spazio-scheduler"
	c.Short = "kube-scheduler with the plugin Spazio, which places pods by what their nodes measure"
	c.Long = c.Short + ".\n\nWithout --config it serves the pods whose schedulerName is " + service.SpazioProfile +
		", and those of testbeds, " + service.SlotsProfile + "."
	d.addFlags(c.Flags())
	debug.addFlags(c.Flags())
	auto.addFlags(c.Flags())
	upstream := c.RunE
	run := func(c *cobra.Command, args []string) error {
		if c.Flags().Lookup("version").Value.String() == "true" { // upstream prints Kubernetes' version alone
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s version %s\n", c.Name(), build.About())
			return err
		}
		if err := service.RegisterArgs(); err != nil {
			return err
		}
		registerBuild()
		if err := auto.apply(); err != nil {
			return err
		}
		if err := d.apply(c.Context(), c.Flags()); err != nil {
			return err
		}
		defer d.remove()
		stop, err := debug.start(c.Context(), c.Flags())
		if err != nil {
			return err
		}
		defer stop()
		stopped := signals()
		err = upstream(c, args)
		if stopped() || c.Context().Err() != nil {
			return nil // without leader election upstream calls its end an error
		}
		return err
	}
	c.RunE = func(c *cobra.Command, args []string) error { return shared.Refused(run(c, args)) }
	return c
}

// registerBuild adds the build of this program to the metrics.
var registerBuild = sync.OnceFunc(func() { legacyregistry.RawMustRegister(build.Info("spazio-scheduler")) })

// signals returns a function that reports whether the process has got SIGINT or SIGTERM since.
// Upstream handles these signals itself and may return before the command's context ends.
func signals() (stopped func() bool) {
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	return func() bool {
		signal.Stop(received) // waits for signals that are being delivered
		return len(received) > 0
	}
}

// defaultConfig is the configuration of a command without --config.
type defaultConfig struct {
	listen    string
	transport transport.Config
	account   string
	path      string
}

func (d *defaultConfig) addFlags(flags *pflag.FlagSet) {
	const instead = " (without --config)"
	flags.StringVar(&d.listen, "signal-listen", d.listen, "host:port on which agents publish their reports"+instead)
	shared.TLSServerAs(flags, &d.transport, "signal-tls-dir", instead)
	flags.StringVar(&d.account, "agent-service-account", "", "namespace/name of the service account whose tokens the agents show, each for its own node"+instead)
}

var errBothConfigs = errors.New("belongs into the plugin's arguments when --config is given")

// apply gives upstream a configuration file where the user gave none.
func (d *defaultConfig) apply(ctx context.Context, flags *pflag.FlagSet) error {
	if flags.Changed("config") {
		for _, name := range []string{"signal-listen", "signal-tls-dir", "agent-service-account", "insecure"} {
			if flags.Changed(name) {
				return command.Usage(fmt.Errorf("--%s: %w", name, errBothConfigs))
			}
		}
		return nil
	}
	args := plugin.SpazioArgs{
		Listen: d.listen, Insecure: d.transport.Insecure,
		TLSCertFile: d.transport.CertFile, TLSKeyFile: d.transport.KeyFile, TLSClientCAFile: d.transport.ClientCAFile,
		AgentServiceAccount: d.account,
	}
	if err := args.Validate(); err != nil {
		return command.Usage(err)
	}
	// What is wrong with an address kube-scheduler would wrap in text alone.
	listener, err := transport.Listen(ctx, d.listen, args.Transport())
	if err != nil {
		return fmt.Errorf("--signal-listen: %w", err)
	}
	if err := listener.Close(); err != nil {
		return fmt.Errorf("--signal-listen: %w", err)
	}
	client, err := clientOf(flags)
	if err != nil {
		return err
	}
	if d.path, err = service.WriteConfiguration(client, args); err != nil {
		return err
	}
	return flags.Set("config", d.path)
}

// clientOf returns what upstream's flags say of the client, which count only
// where there is no configuration file.
func clientOf(flags *pflag.FlagSet) (c service.Client, err error) {
	if c.Kubeconfig, err = flags.GetString("kubeconfig"); err != nil {
		return c, err
	}
	if c.ContentType, err = flags.GetString("kube-api-content-type"); err != nil {
		return c, err
	}
	if c.QPS, err = flags.GetFloat32("kube-api-qps"); err != nil {
		return c, err
	}
	c.Burst, err = flags.GetInt32("kube-api-burst")
	return c, err
}

// remove may be called more than once.
func (d *defaultConfig) remove() {
	if d.path != "" {
		os.Remove(d.path)
	}
}
