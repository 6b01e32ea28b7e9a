package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

func main() { program.Main(command()) }

// options are the flags.
type options struct {
	loads, classes []string
	counts         []int
	duration       time.Duration
	settle         time.Duration
	output         string
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "contention",
		Short: "Compare measures of CPU contention with the number of tasks that want to run",
		Args:  program.Valid(func() error { return o.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := measure(c.Context(), o, c.ErrOrStderr())
			return errors.Join(err, r.write(c.OutOrStdout(), o.output))
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.loads, "loads", []string{"loop"}, "what the pods do, comma-separated: "+strings.Join(loadNames(), ", "))
	f.StringSliceVar(&o.classes, "classes", classes, "where the pods are: "+strings.Join(classes, ", "))
	f.IntSliceVar(&o.counts, "pods", []int{1, 2, 3, 4, 6, 8, 12, 20}, "numbers of pods")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "how long to sample each")
	f.DurationVar(&o.settle, "settle", 2*time.Second, "how long to wait before")
	f.StringVarP(&o.output, "output", "o", "table", "table or json")
	c.AddCommand(loadCommand(), floodCommand())
	return c
}

func (o options) validate() error {
	for _, name := range o.loads {
		if !slices.Contains(loadNames(), name) {
			return fmt.Errorf("--loads: %q is none of %s", name, strings.Join(loadNames(), ", "))
		}
	}
	for _, name := range o.classes {
		if !slices.Contains(classes, name) {
			return fmt.Errorf("--classes: %q is none of %s", name, strings.Join(classes, ", "))
		}
	}
	for _, n := range o.counts {
		if n < 1 || n > 1000 {
			return fmt.Errorf("--pods: %d is not in 1 to 1000", n)
		}
	}
	switch {
	case o.duration < time.Second:
		return fmt.Errorf("--duration: %v is less than a second", o.duration)
	case o.settle < 0:
		return fmt.Errorf("--settle: %v is negative", o.settle)
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", o.output)
	}
	return nil
}

// measure runs every combination. On an error the results so far stand.
func measure(ctx context.Context, o options, progress io.Writer) (report, error) {
	self, err := os.Executable()
	if err != nil {
		return report{}, err
	}
	// As the agent does: a second thread would look for work as often as the first
	// finds some, and be counted.
	runtime.GOMAXPROCS(1)
	r := report{Machine: describe()}
	for _, load := range o.loads {
		for _, class := range o.classes {
			for _, pods := range o.counts {
				fmt.Fprintf(progress, "%s, %s, %d pods\n", load, class, pods)
				row, err := run(ctx, self, trial{load: load, class: class, pods: pods, settle: o.settle, duration: o.duration})
				if err != nil {
					return r, fmt.Errorf("%s, %s, %d pods: %w", load, class, pods, err)
				}
				r.Rows = append(r.Rows, row)
			}
		}
	}
	return r, nil
}
