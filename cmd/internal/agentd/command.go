package agentd

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Main runs the command spazio-agent until ctx ends and returns its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return serve.Execute(ctx, NewCommand(), args, stdout, stderr)
}

// options are the flags of spazio-agent.
type options struct {
	node       string
	schedulers []string
	aggregator string
	procRoot   string
	cgroupRoot string
	podSource  string
	listen     string
	cpuMode    string
	memoryMode string
	cpuCounter string
	rate       float64
	transport  transport.Config
	log        serve.Log
}

// NewCommand returns the command spazio-agent.
func NewCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "spazio-agent",
		Short: "Measure this node and tell the schedulers how many pods still fit",
		Long: `spazio-agent measures CPU and memory of the node it runs on ten times a
second, learns what a pod costs, and publishes how many pods still fit to every
scheduler given. It runs without any: it publishes to each as soon as it comes.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&o.node, "node-name", "", "name of this node in Kubernetes (default the host's name)")
	f.StringSliceVar(&o.schedulers, "schedulers", nil, "host:port of each scheduler's signal server, comma-separated")
	f.StringVar(&o.aggregator, "aggregator", "", "host:port of the aggregator")
	f.StringVar(&o.procRoot, "proc-root", "/proc", "where proc is mounted")
	f.StringVar(&o.cgroupRoot, "cgroup-root", "/sys/fs/cgroup", "where the cgroups are mounted")
	f.StringVar(&o.podSource, "pod-source", "cgroup", "what tells which pods run: cgroup or none")
	f.StringVar(&o.listen, "listen", "127.0.0.1:9691", "host:port of /metrics and /healthz")
	f.StringVar(&o.cpuMode, "cpu-mode", telemetry.CPUHalf.String(), "what counts as CPU usage: half (of utilisation and pressure), utilisation or pressure")
	f.StringVar(&o.memoryMode, "memory-mode", telemetry.MemoryAvailable.String(), "what counts as free memory: available or free")
	f.StringVar(&o.cpuCounter, "cpu-counter", telemetry.CounterAuto.String(), "where utilisation is read: auto, cgroup or stat")
	f.Float64Var(&o.rate, "rate", 10, "samples a second, 1 to 100")
	serve.TransportFlags(f, &o.transport)
	serve.LogFlags(f, &o.log)
	return c
}

// period is the time between two samples.
func (o options) period() (time.Duration, error) {
	if !(o.rate >= 1 && o.rate <= 100) {
		return 0, serve.Usage(fmt.Errorf("--rate: %v is not in 1 to 100", o.rate))
	}
	return time.Duration(math.Round(float64(time.Second) / o.rate)), nil
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
func (o options) telemetry(period time.Duration) (telemetry.Config, error) {
	c := telemetry.Config{
		ProcRoot: o.procRoot, CgroupRoot: o.cgroupRoot,
		MaxInterval: max(time.Second, 10*period),
	}
	var err error
	if c.CPU, err = telemetry.ParseCPUMode(o.cpuMode); err != nil {
		return c, serve.Usage(fmt.Errorf("--cpu-mode: %w", err))
	}
	if c.Memory, err = telemetry.ParseMemoryMode(o.memoryMode); err != nil {
		return c, serve.Usage(fmt.Errorf("--memory-mode: %w", err))
	}
	if c.Counter, err = telemetry.ParseCPUCounter(o.cpuCounter); err != nil {
		return c, serve.Usage(fmt.Errorf("--cpu-counter: %w", err))
	}
	return c, nil
}
