package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
	"github.com/spazio-scheduler/spazio/sim"
)

// roleVariable makes the program act as the process of one cluster.
const (
	roleVariable = "SPAZIO_VALIDATE_ROLE"
	roleCluster  = "cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "validate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if os.Getenv(roleVariable) == roleCluster {
		return serveCluster(ctx, os.Stdin, stdout, stderr)
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	batches, err := o.batches(ctx, stderr)
	if err != nil {
		return err
	}
	var rows []row
	for _, b := range batches {
		for _, outcome := range b.Outcomes {
			more, err := compare(ctx, b.Config, o.simulator, outcome)
			if err != nil {
				return fmt.Errorf("seed %d: %w", b.Config.Seed, err)
			}
			rows = append(rows, more...)
		}
	}
	lines := summarise(rows, o.tolerance)
	if err := write(stdout, o.format, rows, lines); err != nil {
		return err
	}
	return verdict(lines)
}

// batches returns what the cluster did, now or when it was saved.
func (o options) batches(ctx context.Context, stderr io.Writer) ([]ran, error) {
	if o.from != "" {
		return load(o.from)
	}
	var all []ran
	for _, seed := range o.seeds {
		batch := o.batch
		batch.Seed = seed
		outcomes, err := runCluster(ctx, batch, stderr)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		all = append(all, ran{batch, outcomes})
	}
	if o.save != "" {
		return all, save(o.save, all)
	}
	return all, nil
}

// options are the command line.
type options struct {
	save, from string
	batch      demo.Config
	simulator  sim.Config
	seeds      []uint64
	tolerance  float64
	format     string
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{batch: demo.Config{NoRealNode: true}}
	flags := flag.NewFlagSet("validate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.batch.Nodes, "nodes", 19, "nodes")
	flags.IntVar(&o.batch.Cores, "cores", 4, "cores of a node")
	flags.IntVar(&o.batch.Pods, "pods", 300, "pods in the batch")
	flags.Float64Var(&o.batch.CPUSeconds, "work", 5, "mean CPU time of a pod in seconds")
	flags.Float64Var(&o.batch.Rate, "rate", 0, "Poisson arrivals a second; 0 submits the batch at once")
	law := flags.String("law", string(demo.Equal), "law of the CPU time: equal or exponential")
	seeds := flags.String("seeds", "1,2,3", "seeds, separated by commas")
	flags.Float64Var(&o.tolerance, "tolerance", .1, "how far a ratio may be from 1")
	flags.StringVar(&o.format, "o", "table", "table, json or csv")
	flags.StringVar(&o.save, "save", "", "file to keep in what the cluster did")
	flags.StringVar(&o.from, "from", "", "such a file, in place of a cluster")
	flags.Float64Var(&o.simulator.SchedulerDelay, "scheduler-delay", 0, "the simulator's time for an attempt in seconds; 0 is its default")
	flags.Float64Var(&o.simulator.Latency, "latency", 0, "the simulator's latency between two parts in seconds; 0 is its default")
	flags.Float64Var(&o.simulator.KubeletRate, "kubelet-rate", unlimited, "the simulator's pod starts a second on a node")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	o.batch.Distribution = demo.Distribution(*law)
	for text := range strings.SplitSeq(*seeds, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return options{}, fmt.Errorf("-seeds: %w", err)
		}
		o.seeds = append(o.seeds, seed)
	}
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.format != "table" && o.format != "json" && o.format != "csv":
		return options{}, fmt.Errorf("-o %q: want table, json or csv", o.format)
	case !(o.tolerance > 0):
		return options{}, fmt.Errorf("-tolerance %v: want a number above 0", o.tolerance)
	}
	if err := o.simulator.Validate(); err != nil {
		return options{}, err
	}
	return o, o.batch.Validate()
}
