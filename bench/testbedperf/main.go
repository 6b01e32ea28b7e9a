package main

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

func main() { program.Main(command()) }

// gcPercent lets this process's heap grow fivefold before it is collected: etcd, the API server
// and this program's watches share it, and a collection in the middle of a round or a batch
// takes more processor time than the round itself. See ready.
const gcPercent = 400

// options are the flags.
type options struct {
	nodes, slots       int // the latter on each node
	jobs, perRound     int
	rounds, competing  int
	pods, single       int
	pairs              int
	still              time.Duration
	output             string
	testbed, scheduler string
	collect            bool
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "testbedperf",
		Short: "Measure test beds on an embedded control plane",
		Args:  program.Valid(func() error { return o.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.collect {
				debug.SetGCPercent(gcPercent)
			}
			r, err := measure(c.Context(), o, c.ErrOrStderr())
			return r.tell(c.OutOrStdout(), o.output, err)
		},
	}
	c.AddCommand(watchCommand())
	f := c.Flags()
	f.IntVar(&o.nodes, "nodes", 1250, "nodes")
	f.IntVar(&o.slots, "slots", 4, "slots on each")
	f.IntVar(&o.jobs, "jobs", 500, "jobs that are there")
	f.IntVar(&o.perRound, "jobs-per-scheduling", 10, "jobs of a scheduling")
	f.IntVar(&o.competing, "competing", 4, "schedulings that are made at once")
	f.IntVar(&o.rounds, "rounds", 25, "times that they are")
	f.IntVar(&o.pods, "pods", 4000, "pods of a measured batch: it should last for many of the programs' collections of garbage")
	f.IntVar(&o.single, "single", 200, "pods that go into slots one at a time")
	f.IntVar(&o.pairs, "pairs", 3, "pairs of batches")
	f.DurationVar(&o.still, "still", 5*time.Minute, "how long nothing happens, to see what is written then")
	f.StringVar(&o.output, "output", "table", "table or json")
	f.BoolVar(&o.collect, "collect", true, "have this program collect garbage before what is timed, not during it")
	f.StringVar(&o.testbed, "testbed", "", "spazio-testbed to run (default built from this tree)")
	f.StringVar(&o.scheduler, "scheduler", "", "spazio-scheduler to run (default built from this tree)")
	return c
}

func (o *options) validate() error {
	for flag, value := range map[string]int{
		"nodes": o.nodes, "slots": o.slots, "jobs-per-scheduling": o.perRound, "competing": o.competing,
		"rounds": o.rounds, "pods": o.pods, "single": o.single, "pairs": o.pairs,
	} {
		if value < 1 {
			return fmt.Errorf("--%s: %d is not positive", flag, value)
		}
	}
	total := o.nodes * o.slots
	switch {
	case o.nodes > 2000 || total > 5000:
		return fmt.Errorf("--nodes, --slots: a test bed has at most 2000 nodes and 5000 slots, not %d and %d", o.nodes, total)
	case o.jobs < o.perRound*o.competing:
		return fmt.Errorf("--jobs: %d are fewer than the schedulings want", o.jobs)
	case o.perRound*o.competing > total:
		return fmt.Errorf("--slots: %d in all are fewer than the schedulings want", total)
	case o.pods+o.single > total:
		return fmt.Errorf("--pods, --single: %d slots in all are fewer", total)
	case o.still <= 0:
		return fmt.Errorf("--still: %v is not positive", o.still)
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", o.output)
	}
	return nil
}
