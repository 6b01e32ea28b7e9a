package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

func main() { program.Main(command()) }

// options are the flags.
type options struct {
	runtimes, loads []string
	atOnce          []int
	tasks, rounds   int
	work            time.Duration
	containerd, ctr string
	output          string
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "crowd",
		Short: "Measure what many containers at once cost a real kernel",
		Args:  program.Valid(func() error { return o.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := measure(c.Context(), o, c.ErrOrStderr())
			if err != nil {
				return err
			}
			return r.write(c.OutOrStdout(), o.output)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.runtimes, "runtimes", []string{"child"}, "what starts the tasks, comma-separated: "+strings.Join(runtimes, ", "))
	f.StringSliceVar(&o.loads, "loads", []string{"spin", "cache"}, "what the tasks do: "+strings.Join(loadNames(), ", "))
	f.IntSliceVar(&o.atOnce, "at-once", []int{2, 4, 8, 16, 32}, "how many tasks run at once; the others are held against the first")
	f.IntVar(&o.tasks, "tasks", 32, "tasks of a batch, 1 to 1000")
	f.IntVar(&o.rounds, "rounds", 5, "how often each batch runs, at least 2")
	f.DurationVar(&o.work, "work", 200*time.Millisecond, "CPU time of a task that is alone")
	f.StringVar(&o.containerd, "containerd", "/run/containerd/containerd.sock", "containerd's socket")
	f.StringVar(&o.ctr, "ctr", "ctr", "containerd's client")
	f.StringVarP(&o.output, "output", "o", "table", "table or json")
	c.AddCommand(taskCommand())
	return c
}

func (o options) validate() error {
	for _, name := range o.runtimes {
		if !slices.Contains(runtimes, name) {
			return fmt.Errorf("--runtimes: %q is none of %s", name, strings.Join(runtimes, ", "))
		}
	}
	for _, name := range o.loads {
		if !slices.Contains(loadNames(), name) {
			return fmt.Errorf("--loads: %q is none of %s", name, strings.Join(loadNames(), ", "))
		}
	}
	for i, n := range o.atOnce {
		if n < 1 || n > 1000 || slices.Contains(o.atOnce[:i], n) {
			return fmt.Errorf("--at-once: %d is not in 1 to 1000, or there twice", n)
		}
	}
	switch {
	case len(o.runtimes) == 0 || len(o.loads) == 0 || len(o.atOnce) == 0:
		return fmt.Errorf("--runtimes, --loads, --at-once: none given")
	case o.tasks < 1 || o.tasks > 1000:
		return fmt.Errorf("--tasks: %d is not in 1 to 1000", o.tasks)
	case o.rounds < 2:
		return fmt.Errorf("--rounds: %d is less than 2, of which there is no interval", o.rounds)
	case o.work < time.Millisecond:
		return fmt.Errorf("--work: %v is less than a millisecond", o.work)
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", o.output)
	}
	return nil
}
