package agentd

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Main runs the command spazio-agent until ctx ends and returns its exit code.
var Main = command.Program(func() *cobra.Command { return NewCommand() })

// A Source is a pod source that a program adds to those of spazio-agent.
type Source interface {
	// Name is what --pod-source calls it.
	Name() string
	// Flags adds what it takes.
	Flags(*pflag.FlagSet)
	// New makes the source of a node. An error of it is one of usage.
	New(node string, logger *slog.Logger) (telemetry.PodSource, error)
}

// options are the flags of spazio-agent, where there is one right into the config
// that it is a field of.
type options struct {
	node        node.Config
	tokens      string
	telemetry   telemetry.Config
	podSource   string
	usage       string
	energy      energyFlags
	runtime     string
	listen      string
	metrics     string
	channels    string
	cpuMode     string
	contention  string
	cpuCounter  string
	linkSpeed   float64 // Mbit/s
	reserve     map[string]string
	signal      string
	sources     []Source
	recordTotal command.Bytes
	log         command.Log
}

// NewCommand returns the command spazio-agent with further pod sources.
func NewCommand(sources ...Source) *cobra.Command {
	o := options{sources: sources, recordTotal: recording.DefaultTotalSize}
	c := &cobra.Command{
		Use:   "spazio-agent",
		Short: "Measure this node and report to the schedulers how many pods still fit",
		Long: `spazio-agent measures CPU and memory of the node it runs on ten times a
second, learns what a pod costs, and publishes how many pods still fit to every
scheduler given. It also runs while none answers, and publishes to each once it does.

A scheduler is host:port, which is one replica, or dns:///host:port, which is
one for each address of the name, as with a headless Service.

At --listen, on loopback alone, it serves /metrics; /healthz, which is 200 while
samples come; /readyz, which is 200 while the pods of the node are seen (a host
without kubelet wants --pod-source none), once there was a report and, if
schedulers were given, a stream to one is open; and /debug/why, which explains the
last report as JSON or, with ?format=text, in words. Probes and Prometheus reach the
first three at --metrics-listen.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return flags.RefusedTLS(o.run(c.Context(), c.ErrOrStderr()))
		},
	}
	f := c.Flags()
	o.bindPeers(f)
	o.bindTelemetry(f)
	f.StringVar(&o.signal, "signal", signalRoom, "what the reports say: room (how many pods fit) or pronto (whether Pronto's rejection signal takes any)")
	o.energy.bind(f)
	f.StringVar(&o.node.RecordDir, "record", "", "directory in which to record samples, pods and reports for spazio-lab replay; empty for none")
	f.Var(&o.recordTotal, "record-total-size", "bound of all files of --record, at least 32MiB; the oldest go first")
	flags.TLSClient(f, &o.node.Transport)
	command.LogFlags(f, &o.log)
	return command.Serves(c)
}

func (o *options) bindPeers(f *pflag.FlagSet) {
	f.StringVar(&o.node.Name, "node-name", "", "name of this node in Kubernetes (default the host's name)")
	f.StringSliceVar(&o.node.Schedulers, "schedulers", nil, "signal server of each scheduler, comma-separated: host:port or dns:///host:port; empty for none")
	f.StringVar(&o.tokens, "token-dir", "", "directory of the service account tokens that are shown: scheduler, aggregator and profiler, "+
		"each a file with a token of the receivers' audience; needs TLS; empty for none")
	f.StringVar(&o.node.Aggregator, "aggregator", "", "host:port of the aggregator; empty for none")
	f.StringSliceVar(&o.node.Profilers, "profiler", nil, "host:port of each profiler replica, comma-separated, that receives what pods take; needs --usage on")
	f.StringVar(&o.listen, "listen", "127.0.0.1:9691", "host:port of /debug/why, /metrics, /healthz and /readyz, on loopback")
	f.StringVar(&o.metrics, "metrics-listen", "", "host:port of /metrics, /healthz and /readyz, in plaintext and also beyond loopback, such as :9700; empty for none")
}

// prontoWindow is how long a rejection by Pronto's signal stands after the last sample that raised it.
const prontoWindow = time.Second

// parseTokens names the token that each kind of server is shown.
func (o *options) parseTokens() {
	if o.tokens == "" {
		return
	}
	if len(o.node.Schedulers) > 0 {
		o.node.TokenFile = filepath.Join(o.tokens, "scheduler")
	}
	if o.node.Aggregator != "" {
		o.node.AggregatorTokenFile = filepath.Join(o.tokens, "aggregator")
	}
	if len(o.node.Profilers) > 0 {
		o.node.ProfilerTokenFile = filepath.Join(o.tokens, "profiler")
	}
}

// The values of --signal.
const (
	signalRoom   = "room"
	signalPronto = "pronto"
)

func (o *options) parseSignal() error {
	switch o.signal {
	case signalRoom:
		return nil
	case signalPronto:
		o.node.Pronto = &pronto.Config{Window: prontoWindow}
		return nil
	}
	return fmt.Errorf("--signal: %q is neither %s nor %s", o.signal, signalRoom, signalPronto)
}

func (o *options) bindTelemetry(f *pflag.FlagSet) {
	f.StringVar(&o.telemetry.ProcRoot, "proc-root", "/proc", "where proc is mounted")
	f.StringVar(&o.telemetry.SysRoot, "sys-root", "/sys", "where sysfs is mounted")
	f.StringVar(&o.telemetry.CgroupRoot, "cgroup-root", "/sys/fs/cgroup", "where the cgroups are mounted")
	f.StringVar(&o.podSource, "pod-source", "cgroup", "how the agent finds which pods run: "+o.sourceNames())
	for _, s := range o.sources {
		s.Flags(f)
	}
	f.StringVar(&o.usage, "usage", "off", "whether to read what each pod takes from its cgroup: off or on")
	f.StringVar(&o.runtime, "runtime-endpoint", "", "unix socket for --pod-source cri (default where runtimes usually listen)")
	f.StringVar(&o.channels, "channels", telemetry.Channels{}.String(), "what is measured, comma-separated")
	f.StringVar(&o.cpuMode, "cpu-mode", string(telemetry.CPUHalf), "what counts as CPU usage: half (of utilisation and contention), utilisation or contention")
	f.StringVar(&o.contention, "cpu-contention", string(telemetry.ContentionRunnable), "what counts as contention for the CPU: runnable (tasks that wait) or pressure (PSI)")
	f.StringVar(&o.cpuCounter, "cpu-counter", string(telemetry.CounterAuto), "where utilisation is read: auto, cgroup, cpuacct or stat")
	f.Float64Var(&o.linkSpeed, "link-speed", 0, "Mbit/s of every link, for the network channel; 0 asks the drivers")
	f.StringToStringVar(&o.reserve, "reserve", nil, "share of a channel that pods leave free, as cpu=0.5 on nodes whose servers must answer fast (default none)")
}

// parse completes the configs by the flags that need more than cobra's parsing,
// and checks what neither it nor the packages below do.
func (o *options) parse() error {
	if err := o.node.Transport.Validate(); err != nil {
		return err
	}
	o.parseTokens()
	if err := o.energy.parse(o.telemetry.SysRoot); err != nil {
		return err
	}
	if err := o.parseTelemetry(); err != nil {
		return err
	}
	if err := o.parseReserve(); err != nil {
		return err
	}
	if err := o.parseSignal(); err != nil {
		return err
	}
	if o.usage != "off" && o.usage != "on" {
		return fmt.Errorf("--usage: %q is neither off nor on", o.usage)
	}
	if len(o.node.Profilers) > 0 && o.usage == "off" {
		return errors.New("--profiler: needs --usage on")
	}
	if o.recordTotal < twoFiles {
		return fmt.Errorf("--record-total-size: %s is less than two files of a recording, %s", &o.recordTotal, &twoFiles)
	}
	o.node.Record = recording.Options{TotalSize: int64(o.recordTotal)}
	return nil
}

// twoFiles is the least that a recording is bounded to.
var twoFiles = command.Bytes(2 * recording.DefaultFileSize)

func (o *options) parseReserve() error {
	o.node.Reserve = make(map[string]float64, len(o.reserve))
	for name, text := range o.reserve {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("--reserve: %s=%s is not a number", name, text)
		}
		o.node.Reserve[name] = share
	}
	return nil
}

func (o options) nodeName() (string, error) {
	if o.node.Name != "" {
		return o.node.Name, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("no --node-name, and the host has none: %w", err)
	}
	// The kubelet registers nodes in lower case.
	return strings.ToLower(name), nil
}

// modeFlags are the flags of telemetry.Config's modes.
var modeFlags = map[string]string{"CPU": "cpu-mode", "Contention": "cpu-contention", "Counter": "cpu-counter"}

func (o *options) parseTelemetry() (err error) {
	c := &o.telemetry
	c.LinkSpeed = o.linkSpeed * 1e6 / 8
	if c.Channels, err = telemetry.ParseChannels(o.channels); err != nil {
		return fmt.Errorf("--channels: %w", err)
	}
	c.CPU, c.Contention, c.Counter = telemetry.CPUMode(o.cpuMode), telemetry.CPUContention(o.contention), telemetry.CPUCounter(o.cpuCounter)
	err = c.Validate()
	if bad := (*telemetry.FieldError)(nil); errors.As(err, &bad) && modeFlags[bad.Field] != "" {
		return fmt.Errorf("--%s: %w", modeFlags[bad.Field], err)
	}
	return err
}
