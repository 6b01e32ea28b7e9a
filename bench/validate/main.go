package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/sim"
)

func main() { program.Main(command()) }

// options are the flags.
type options struct {
	demo       string
	save, from string
	batch      batch
	simulator  sim.Config
	seeds      []uint
	tolerance  float64
	output     string
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "validate",
		Short: "Hold the simulator against the demo's cluster on the same pods",
		Args:  program.Valid(func() error { return o.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&o.demo, "demo", "", "spazio-demo to run (default built from this tree)")
	f.IntVar(&o.batch.Nodes, "nodes", 19, "nodes")
	f.IntVar(&o.batch.Cores, "cores", 4, "cores of a node")
	f.IntVar(&o.batch.Pods, "pods", 300, "pods in the batch")
	f.Float64Var(&o.batch.Work, "work", 5, "mean CPU time of a pod in seconds")
	f.Float64Var(&o.batch.Rate, "rate", 0, "Poisson arrivals a second; 0 submits the batch at once")
	f.Float64Var(&o.batch.Burst, "burst", 0, "arrivals a second from --burst-after on; 0 for --rate throughout")
	f.Float64Var(&o.batch.BurstAfter, "burst-after", 0, "seconds after which --burst is the rate; 0 for from the start on")
	f.Float64Var(&o.batch.Request, "request-cpu", 0, "cores that a pod requests; 0 for none")
	f.StringVar(&o.batch.Law, "law", "equal", "law of the CPU time: equal or exponential")
	f.UintSliceVar(&o.seeds, "seeds", []uint{1, 2, 3}, "seeds, separated by commas")
	f.Float64Var(&o.tolerance, "tolerance", .1, "how far a ratio may be from 1")
	f.StringVarP(&o.output, "output", "o", "table", "table, json or csv")
	f.StringVar(&o.save, "save", "", "file to keep in what the cluster did")
	f.StringVar(&o.from, "from", "", "such a file, in place of a cluster")
	f.Float64Var(&o.simulator.SchedulerDelay, "scheduler-delay", 0, "the simulator's time for an attempt in seconds; 0 is its default")
	f.Float64Var(&o.simulator.Latency, "latency", 0, "the simulator's latency between two parts in seconds; 0 is its default")
	f.Float64Var(&o.simulator.KubeletRate, "kubelet-rate", unlimited, "the simulator's pod starts a second on a node")
	return c
}

// validate leaves it to the demo what the largest batch is.
func (o *options) validate() error {
	switch {
	case o.batch.Nodes < 1:
		return fmt.Errorf("--nodes: %d is not positive", o.batch.Nodes)
	case o.batch.Cores < 1:
		return fmt.Errorf("--cores: %d is not positive", o.batch.Cores)
	case o.batch.Pods < 1:
		return fmt.Errorf("--pods: %d is not positive", o.batch.Pods)
	case !(o.batch.Work > 0):
		return fmt.Errorf("--work: %v is not positive", o.batch.Work)
	case !(o.batch.Request >= 0):
		return fmt.Errorf("--request-cpu: %v is not at least 0", o.batch.Request)
	case !(o.batch.Rate >= 0):
		return fmt.Errorf("--rate: %v is not at least 0", o.batch.Rate)
	case !(o.batch.Burst >= 0) || o.batch.Burst > 0 && o.batch.Rate == 0:
		return fmt.Errorf("--burst: %v is not a rate after a --rate", o.batch.Burst)
	case !(o.batch.BurstAfter >= 0) || o.batch.BurstAfter > 0 && o.batch.Burst == 0:
		return fmt.Errorf("--burst-after: %v are no seconds before a --burst", o.batch.BurstAfter)
	case o.batch.Law != "equal" && o.batch.Law != "exponential":
		return fmt.Errorf("--law: %q is neither equal nor exponential", o.batch.Law)
	case len(o.seeds) == 0:
		return errors.New("--seeds: there are none")
	case !(o.tolerance > 0):
		return fmt.Errorf("--tolerance: %v is not positive", o.tolerance)
	case o.output != "table" && o.output != "json" && o.output != "csv":
		return fmt.Errorf("--output: %q is none of table, json, csv", o.output)
	}
	return o.simulator.Validate()
}

func (o *options) run(ctx context.Context, stdout, progress io.Writer) error {
	batches, err := o.batches(ctx, progress)
	if err != nil {
		return err
	}
	var rows []row
	for _, b := range batches {
		for _, outcome := range b.Batches {
			more, err := compare(ctx, b.Config, o.simulator, outcome)
			if err != nil {
				return fmt.Errorf("seed %d: %w", b.Config.Seed, err)
			}
			rows = append(rows, more...)
		}
	}
	lines := summarise(rows, o.tolerance)
	if err := write(stdout, o.output, rows, lines); err != nil {
		return err
	}
	return verdict(lines)
}

// batches returns what the cluster did, now or when it was saved.
func (o *options) batches(ctx context.Context, progress io.Writer) ([]ran, error) {
	if o.from != "" {
		return load(o.from)
	}
	path := o.demo
	if path == "" {
		dir, err := os.MkdirTemp("", "spazio-validate-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		if path, err = program.Build(ctx, "spazio-demo", dir, progress); err != nil {
			return nil, err
		}
	}
	var all []ran
	for _, seed := range o.seeds {
		b := o.batch
		b.Seed = uint64(seed)
		r, err := runDemo(ctx, path, b, progress)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		all = append(all, r)
	}
	if o.save != "" {
		return all, save(o.save, all)
	}
	return all, nil
}
