package agentd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Main runs the command spazio-agent until ctx ends and returns its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return serve.Execute(ctx, NewCommand(), args, stdout, stderr)
}

// A Source is a pod source that a program adds to those of spazio-agent.
type Source interface {
	// Name is what --pod-source calls it.
	Name() string
	// Flags adds what it takes.
	Flags(*pflag.FlagSet)
	// New makes the source of a node. An error of it is one of usage.
	New(node string, logger *slog.Logger) (telemetry.PodSource, error)
}

// options are the flags of spazio-agent.
type options struct {
	node        string
	schedulers  []string
	refresh     time.Duration
	aggregator  string
	tokenFile   string
	procRoot    string
	sysRoot     string
	cgroupRoot  string
	podSource   string
	runtime     string
	listen      string
	debugListen string
	channels    string
	cpuMode     string
	contention  string
	memoryMode  string
	cpuCounter  string
	linkSpeed   float64
	reserve     map[string]string
	sources     []Source
	record      string
	recordFile  serve.Bytes
	recordTotal serve.Bytes
	limits      limits
	transport   transport.Config
	log         serve.Log
}

// NewCommand returns the command spazio-agent with further pod sources.
func NewCommand(sources ...Source) *cobra.Command {
	o := options{
		sources:    sources,
		recordFile: recording.DefaultFileSize, recordTotal: recording.DefaultTotalSize,
		limits: defaultLimits,
	}
	c := &cobra.Command{
		Use:   "spazio-agent",
		Short: "Measure this node and tell the schedulers how many pods still fit",
		Long: `spazio-agent measures CPU and memory of the node it runs on ten times a
second, learns what a pod costs, and publishes how many pods still fit to every
scheduler given. It runs without any: it publishes to each as soon as it comes.

A scheduler is host:port, which is one replica, or dns:///host:port, which is
one for each address of the name, as with a headless Service.

At --listen it serves /metrics; /healthz, which is 200 while samples come;
/readyz, which is 200 while the pods of the node are seen (a host without kubelet
wants --pod-source none), once there was a report and, if schedulers were given, a
stream to one is open; and /debug/why, which explains the last report as JSON or,
with ?format=text, in words. Profiles are at --debug-listen alone.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	o.bindPeers(f)
	o.bindTelemetry(f)
	f.StringVar(&o.record, "record", "", "directory in which to record samples, pods and reports for spazio-lab replay; empty for none")
	f.Var(&o.recordFile, "record-file-size", "size at which a file of --record ends and the next begins")
	f.Var(&o.recordTotal, "record-total-size", "bound of all files of --record; the oldest go first")
	o.limits.bind(f)
	serve.TransportFlags(f, &o.transport)
	serve.LogFlags(f, &o.log)
	return c
}

func (o *options) bindPeers(f *pflag.FlagSet) {
	f.StringVar(&o.node, "node-name", "", "name of this node in Kubernetes (default the host's name)")
	f.StringSliceVar(&o.schedulers, "schedulers", nil, "signal server of each scheduler, comma-separated: host:port or dns:///host:port")
	f.DurationVar(&o.refresh, "dns-refresh", 5*time.Second, "how often a dns:/// scheduler is looked up, besides whenever one is lost")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the service account token that the schedulers ask for; needs TLS")
	f.StringVar(&o.aggregator, "aggregator", "", "host:port of the aggregator; empty for none")
	f.StringVar(&o.listen, "listen", "127.0.0.1:9691", "host:port of /metrics, /healthz, /readyz and /debug/why")
	f.StringVar(&o.debugListen, "debug-listen", "", "host:port of Go's profiles, on loopback; empty for none")
}

func (o *options) bindTelemetry(f *pflag.FlagSet) {
	f.StringVar(&o.procRoot, "proc-root", "/proc", "where proc is mounted")
	f.StringVar(&o.sysRoot, "sys-root", "/sys", "where sysfs is mounted")
	f.StringVar(&o.cgroupRoot, "cgroup-root", "/sys/fs/cgroup", "where the cgroups are mounted")
	f.StringVar(&o.podSource, "pod-source", "cgroup", "what tells which pods run: "+o.sourceNames())
	for _, s := range o.sources {
		s.Flags(f)
	}
	f.StringVar(&o.runtime, "runtime-endpoint", "", "unix socket for --pod-source cri or containerd (default where runtimes usually listen)")
	f.StringVar(&o.channels, "channels", telemetry.Channels{}.String(), "what is measured, comma-separated")
	f.StringVar(&o.cpuMode, "cpu-mode", telemetry.CPUHalf.String(), "what counts as CPU usage: half (of utilisation and contention), utilisation or contention")
	f.StringVar(&o.contention, "cpu-contention", telemetry.ContentionRunnable.String(), "what counts as contention for the CPU: runnable (tasks that wait) or pressure (PSI)")
	f.StringVar(&o.memoryMode, "memory-mode", telemetry.MemoryAvailable.String(), "what counts as free memory: available or free")
	f.StringVar(&o.cpuCounter, "cpu-counter", telemetry.CounterAuto.String(), "where utilisation is read: auto, cgroup, cpuacct or stat")
	f.Float64Var(&o.linkSpeed, "link-speed", 0, "Mbit/s of every link, for the network channel; 0 asks the drivers")
	f.StringToStringVar(&o.reserve, "reserve", nil, "share of a channel that pods leave free, as cpu=0.5 on nodes whose servers must answer fast (default none)")
}

// validate checks what neither cobra nor the packages below do.
func (o options) validate() error {
	if err := o.transport.Validate(); err != nil {
		return err
	}
	if o.refresh <= 0 {
		return fmt.Errorf("--dns-refresh: %v is not positive", o.refresh)
	}
	if o.record != "" {
		check := recording.Options{
			FileSize: int64(o.recordFile), TotalSize: int64(o.recordTotal), State: func() agent.State { return agent.State{} },
		}
		if err := check.Validate(); err != nil {
			return fmt.Errorf("--record: %w", err)
		}
	}
	return o.limits.validate()
}

// reserves reads --reserve; the channels it names must be measured.
func (o options) reserves(measured telemetry.Channels) (map[string]float64, error) {
	names := strings.Split(measured.String(), ",")
	shares := make(map[string]float64, len(o.reserve))
	for name, text := range o.reserve {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--reserve: %s is not measured, only %s", name, measured)
		}
		share, err := strconv.ParseFloat(text, 64)
		if err != nil || !(share >= 0 && share < 1) {
			return nil, fmt.Errorf("--reserve: %s=%s is not a share in [0, 1)", name, text)
		}
		shares[name] = share
	}
	return shares, nil
}

func (o options) nodeName() (string, error) {
	if o.node != "" {
		return o.node, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("no --node-name, and the host has none: %w", err)
	}
	// The kubelet registers nodes in lower case.
	return strings.ToLower(name), nil
}

// telemetry is what the flags say of the Reader.
func (o options) telemetry() (telemetry.Config, error) {
	c := telemetry.Config{
		ProcRoot: o.procRoot, SysRoot: o.sysRoot, CgroupRoot: o.cgroupRoot,
		LinkSpeed: o.linkSpeed * 1e6 / 8,
	}
	var err error
	if c.Channels, err = telemetry.ParseChannels(o.channels); err != nil {
		return c, fmt.Errorf("--channels: %w", err)
	}
	if c.CPU, err = telemetry.ParseCPUMode(o.cpuMode); err != nil {
		return c, fmt.Errorf("--cpu-mode: %w", err)
	}
	if c.Contention, err = telemetry.ParseCPUContention(o.contention); err != nil {
		return c, fmt.Errorf("--cpu-contention: %w", err)
	}
	if c.Memory, err = telemetry.ParseMemoryMode(o.memoryMode); err != nil {
		return c, fmt.Errorf("--memory-mode: %w", err)
	}
	if c.Counter, err = telemetry.ParseCPUCounter(o.cpuCounter); err != nil {
		return c, fmt.Errorf("--cpu-counter: %w", err)
	}
	return c, c.Validate()
}
