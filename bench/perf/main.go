package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

// roleVariable makes the program act as one of the processes of a run.
const roleVariable = "SPAZIO_PERF_ROLE"

func main() {
	var err error
	switch role := os.Getenv(roleVariable); {
	case filepath.Base(os.Args[0]) == etcdName: // scheduler_perf looks for it on PATH
		err = serveEtcd(os.Args[1:])
	case role == roleRun:
		err = measure()
	case role == roleAgents:
		err = publishReports(os.Stdin)
	case role == roleBallast:
		err = burn(os.Stdin)
	default:
		program.Main(command())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(program.Failure)
	}
}

// options are the flags.
type options struct {
	workload     workload
	pairs, least int
	width        float64
	profiles     string
	output       string
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "perf",
		Short: "Measure what the plugin costs a scheduler",
		Args:  program.Valid(func() error { return o.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			return o.compare(c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&o.workload.Name, "workload", "SchedulingBasic", "SchedulingBasic, Unschedulable or PreemptionAsync")
	f.IntVar(&o.workload.Nodes, "nodes", 1000, "nodes")
	f.IntVar(&o.workload.Init, "init", -1, "pods before the measured ones; -1 means upstream's number for the nodes")
	f.IntVar(&o.workload.Pods, "pods", 2000, "measured pods")
	f.IntVar(&o.workload.Percentage, "percentage", 0, "percentageOfNodesToScore, with the plugin and without; 0 means upstream's")
	f.BoolVar(&o.workload.Batching, "batching", false, "leave opportunistic batching on; scheduler_perf turns it off")
	f.IntVar(&o.pairs, "pairs", 40, "pairs of runs at most")
	f.IntVar(&o.least, "least", 5, "pairs of runs at least")
	f.Float64Var(&o.width, "width", .03, "end when the interval of the throughput's ratio is no wider to either side")
	f.StringVar(&o.profiles, "profiles", "", "directory to keep the CPU profiles in")
	f.StringVarP(&o.output, "output", "o", "table", "table or json")
	return c
}

func (o *options) validate() error {
	switch {
	case o.pairs < 2:
		return fmt.Errorf("--pairs: %d is less than 2, which an interval needs", o.pairs)
	case !(o.width >= 0):
		return fmt.Errorf("--width: %v is not at least 0", o.width)
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", o.output)
	}
	return o.workload.complete()
}

func (o *options) compare(stdout, progress io.Writer) error {
	c, err := newComparison(o.workload, o.profiles, progress)
	if err != nil {
		return err
	}
	defer c.close()
	for i := range o.pairs {
		if err := c.pair(i); err != nil {
			return err
		}
		if i+1 < max(o.least, 2) {
			continue
		}
		e, err := c.estimate(result.throughput)
		if err != nil {
			return err
		}
		if e.Width() <= o.width {
			break
		}
	}
	return c.write(stdout, o.output)
}
