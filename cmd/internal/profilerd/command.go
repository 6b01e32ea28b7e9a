// Package profilerd is the command spazio-profiler: flags around package
// cmd/profiler/service.
package profilerd

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1/liqo"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	shared "github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/cmd/profiler/service"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
)

// Main runs the command until it fails or ctx ends, and returns its exit code.
var Main = command.Program(NewCommand)

// gcPercent is less than Go's 100: most of the heap is profiles and connections, which
// stay, and little is allocated a second.
const gcPercent = 15

// NewCommand returns the command with its flags at their defaults.
func NewCommand() *cobra.Command {
	config := service.Config{Listen: "127.0.0.1:9696", DebugListen: "127.0.0.1:9697"}
	var log command.Log
	var preset string
	c := &cobra.Command{
		Use:   "spazio-profiler",
		Short: "Learn what workloads take, and tell schedulers and people",
		Long: "spazio-profiler takes in what agents measure of pods (spazio-agent --usage on), learns\n" +
			"what each workload takes, and keeps that in WorkloadProfile objects. All replicas\n" +
			"receive the agents' readings; the one with the lease writes.",
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if config.Logger, err = log.Logger(c.ErrOrStderr()); err != nil {
				return err
			}
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(gcPercent)
			}
			klog.SetSlogLogger(config.Logger)
			ctrllog.SetLogger(logr.FromSlogHandler(config.Logger.Handler()))
			config.DebugDefault = !c.Flags().Changed("debug-listen")
			if config.Store.Preset, err = presetOf(preset); err != nil {
				return command.Usage(err)
			}
			if err := config.Validate(); err != nil {
				return command.Usage(err)
			}
			profiler, err := service.New(c.Context(), config)
			if err != nil {
				return shared.RefusedTLS(err)
			}
			return profiler.Run(c.Context())
		},
	}
	flags := c.Flags()
	flags.StringVar(&config.Listen, "listen", config.Listen, "host:port of the UsageService")
	flags.StringVar(&config.MetricsListen, "metrics-listen", "", "host:port of /metrics, /healthz and /readyz, in plaintext and also beyond loopback, such as :9702; empty for none")
	flags.StringVar(&config.DebugListen, "debug-listen", config.DebugListen, "host:port of "+service.DebugPath+", what is known as JSON, /metrics, /healthz and /readyz, on loopback; empty for none")
	flags.StringVar(&config.Kubeconfig, "kubeconfig", "", "leads to the API server (default the pod's own)")
	flags.StringVar(&config.LeaseNamespace, "lease-namespace", "", "namespace of the lease of the replica that writes (default the pod's own)")
	shared.TLSServer(flags, &config.Callers.Transport)
	flags.StringVar(&config.Callers.ServiceAccount, "agent-service-account", "", "namespace/name of the service account whose tokens the agents show, each for its own node; empty asks for none")
	flags.StringVar(&preset, "preset", profile.Spazio().Name, "whose rules recommendations follow: "+presets())
	flags.StringVar(&config.Controller.VPAName, "vpa-name", "", "name by which objects of the Vertical Pod Autoscaler ask for recommendations (spec.recommenders), such as spazio; empty serves none")
	flags.BoolVar(&config.Controller.Resize, "resize", false, "change the requests of running pods labelled "+controller.ResizeLabel+"=true")
	flags.BoolVar(&config.Controller.ExportLiqo, "export-liqo", false, "write the objects of the group "+liqo.GroupVersion.Group+" too")
	flags.IntVar(&config.Store.MaxWorkloads, "max-workloads", 20_000, "most workloads kept")
	flags.DurationVar(&config.Store.Refresh, "refresh", 10*time.Minute, "time after which a profile that changed little is written again, and age of checkpoints")
	flags.StringVar((*string)(&config.Store.Continuous.Mode), "continuous", string(profiler.Off), "correct recommendations every 10 minutes by how much CPU limits throttle workloads: off, observe (publish factors) or on")
	flags.DurationVar(&config.Store.Continuous.Rules.Every, "continuous-every", 10*time.Minute, "time between corrections")
	flags.StringVar(&config.Prometheus.Address, "prometheus", "", "URL of a Prometheus server that knows what unknown workloads took before; empty for none")
	flags.StringVar(&config.Prometheus.CAFile, "prometheus-ca-file", "", "PEM authorities that its certificate must come from (default the system's)")
	flags.StringVar(&config.Prometheus.TokenFile, "prometheus-token-file", "", "file of the bearer token shown to it, read again for each query; empty for none")
	command.LogFlags(flags, &log)
	return command.Serves(c)
}

func presetOf(name string) (profile.Preset, error) {
	for _, p := range profile.Presets() {
		if p.Name == name {
			return p, nil
		}
	}
	return profile.Preset{}, fmt.Errorf("--preset: %q is none of %s", name, presets())
}

func presets() string {
	var names []string
	for _, p := range profile.Presets() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
