package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/energy/share/fakeguest"
)

func main() {
	fakeguest.Main()
	program.Main(command())
}

// options are the flags.
type options struct {
	counts   []int
	duration time.Duration
	cores    float64
	power    string
	check    bool
	output   string
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "guestpower",
		Short: "Measure how evenly spazio-power tells guests their energy, and what that takes",
		Args:  program.Valid(func() error { return o.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := run(c.Context(), o, c.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := r.write(c.OutOrStdout(), o.output); err != nil || !o.check {
				return err
			}
			return errors.Join(r.missed()...)
		},
	}
	f := c.Flags()
	f.IntSliceVar(&o.counts, "counts", []int{1, 4, 8, 12, 16, 20}, "numbers of guests")
	f.DurationVar(&o.duration, "duration", 30*time.Second, "how long to watch each")
	f.Float64Var(&o.cores, "cores", .2, "cores that the guests keep busy together")
	f.StringVar(&o.power, "power", "", "spazio-power to run (default built from this tree)")
	f.BoolVar(&o.check, "check", false, "exit with 1 if a bar is missed")
	f.StringVarP(&o.output, "output", "o", "table", "table or json")
	return c
}

func (o options) validate() error {
	for _, n := range o.counts {
		if n < 1 || n > share.MaxGuests {
			return fmt.Errorf("--counts: %d is not in 1 to %d", n, share.MaxGuests)
		}
	}
	switch {
	case o.duration < 2*time.Second:
		return fmt.Errorf("--duration: %v is less than 2s", o.duration)
	case !(o.cores >= 0 && o.cores <= 1024):
		return fmt.Errorf("--cores: %v is not in 0 to 1024", o.cores)
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", o.output)
	}
	return nil
}
