// Package powerd is the command spazio-host-energy: flags around node.Sharing.
package powerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	shared "github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Main runs the command until it fails or ctx ends, and returns its exit code.
var Main = command.Program(NewCommand)

// options are the flags of spazio-host-energy.
type options struct {
	dir, mode, idle string
	procRoot        string
	cgroupRoot      string
	sysRoot         string
	energy          shared.Energy
	servers         endpoint.ServersConfig
	log             command.Log
}

// NewCommand returns the command with its flags at their defaults.
func NewCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "spazio-host-energy",
		Short: "Share this machine's energy with its virtual machines",
		Long: "spazio-host-energy divides what this machine takes among the guests that run on it, and publishes\n" +
			"each one's part as a tree of energy counters below --dir: mounted into the guest, read-only,\n" +
			"it is what spazio-agent --energy shared reads there, and node_exporter and Kepler as well.\n\n" +
			"At --listen, on loopback alone, it serves /metrics; /healthz; /readyz, which is 200 while\n" +
			"energy is published; and /debug/guests, what each guest took in the last second. Probes and\n" +
			"Prometheus reach the first three at --metrics-listen.",
		RunE: func(c *cobra.Command, _ []string) error {
			o.servers.DebugDefault = !c.Flags().Changed("listen")
			return shared.Refused(o.run(c.Context(), c.ErrOrStderr()))
		},
	}
	f := c.Flags()
	f.StringVar(&o.dir, "dir", "/run/spazio/power", "directory of the guests' trees, on tmpfs, which no other process writes to")
	f.StringVar(&o.mode, "guests", string(share.Auto), "how guests are found: cgroup (libvirt's control groups), process (QEMU's processes that name a guest) or auto (the first that finds some)")
	f.StringVar(&o.idle, "idle", string(share.IdleVCPU), "which guests are charged for the power without load: vcpu (each guest its virtual CPUs of the machine's), even (all guests alike) or none")
	o.energy.Bind(f, source.Auto, "what measures the machine's energy: auto (the best of what is there), powercap, shared, hwmon or model",
		source.Auto, source.NamePowercap, source.NameShared, source.NameHwmon, source.NameModel)
	f.StringVar(&o.procRoot, "proc-root", "/proc", "where proc is mounted")
	f.StringVar(&o.sysRoot, "sys-root", "/sys", "where sysfs is mounted")
	f.StringVar(&o.cgroupRoot, "cgroup-root", "/sys/fs/cgroup", "where the cgroups are mounted")
	f.StringVar(&o.servers.Debug, "listen", "127.0.0.1:9698", "host:port of /debug/guests, /metrics, /healthz and /readyz, on loopback; empty for none")
	f.StringVar(&o.servers.Metrics, "metrics-listen", "", "host:port of /metrics, /healthz and /readyz, in plaintext and also beyond loopback, such as :9703; empty for none")
	command.LogFlags(f, &o.log)
	return command.Serves(c)
}

// run opens everything, then runs it until ctx ends.
func (o *options) run(ctx context.Context, stderr io.Writer) (err error) {
	if o.servers.Logger, err = o.log.Logger(stderr); err != nil {
		return err
	}
	o.energy.Config.Logger = o.servers.Logger
	config, err := o.parse()
	if err != nil {
		return command.Usage(err)
	}
	cpu, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: o.cgroupRoot, ProcRoot: o.procRoot, Logger: o.servers.Logger})
	if err != nil {
		return err
	}
	defer cpu.Close()
	opened, chain, err := node.OpenEnergy(ctx, o.energy.Config, cpu)
	if err != nil {
		return refused(fmt.Errorf("--energy %s: %w", o.energy.Config.Source, err))
	}
	defer chain.Close()
	registry := prometheus.NewRegistry()
	if err := build.Register(registry, "spazio-host-energy"); err != nil {
		return err
	}
	config.Registerer, config.Logger = registry, o.servers.Logger
	config.Host.Source, config.Host.Divider.Curve = chain, opened.Nameplate
	config.Host.CPU = func() (time.Duration, int, error) {
		machine, err := cpu.ReadNode()
		return machine.Busy, machine.Cores, err
	}
	sharing, err := node.NewSharing(config)
	if err != nil {
		return refused(err)
	}
	o.servers.Shown = endpoint.Config{
		Gatherer: registry, Ready: sharing.Ready,
		Handlers: map[string]http.Handler{"GET /debug/guests": sharing.Handler()},
	}
	servers, err := endpoint.NewServers(ctx, o.servers)
	if err != nil {
		return errors.Join(err, sharing.Close())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return sharing.Run(ctx) })
	g.Go(func() error { return servers.Run(ctx) })
	return g.Wait()
}

// parse makes a config of the flags.
func (o *options) parse() (c node.SharingConfig, err error) {
	finder := share.FinderConfig{Mode: share.Mode(o.mode), ProcRoot: o.procRoot, CgroupRoot: o.cgroupRoot}
	if c.Host.Guests, err = share.NewFinder(finder); err != nil {
		return c, fmt.Errorf("--guests: %w", err)
	}
	c.Host.Divider.Idle = share.Idle(o.idle)
	if err = c.Host.Divider.Validate(); err != nil {
		return c, fmt.Errorf("--idle: %w", err)
	}
	if o.energy.Config.Source == source.NameRedfish {
		return c, fmt.Errorf("--energy: %s has no reading each second", source.NameRedfish)
	}
	c.Host.Dir = o.dir
	return c, o.energy.Parse(o.sysRoot)
}

// refused marks what packages say of a config, that is, of flags.
func refused(err error) error {
	switch read := field.By(err, "source"); {
	case read != nil && errors.Is(err, source.ErrInvalid):
		return shared.EnergyUsage(read.Field, err)
	case field.By(err, "energy") != nil:
		return command.Usage(err)
	}
	return err
}
