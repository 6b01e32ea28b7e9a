package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// Main runs the command with the process's arguments and exits with its code, or does what its
// role says if the process is a child of one that does. It ends by SIGINT or SIGTERM in order, and at
// once by the second of them.
func Main(root *cobra.Command, roles map[string]children.Role) {
	children.Init(roles)
	command.Main(command.Program(func() *cobra.Command { return root }))
}

// Command returns a benchmark's command: flags adds its flags, validate refuses their values and
// arguments, and measure adds what it finds to the result; what it adds before it fails is shown, too.
// It starts processes in the group and makes files in the group's directory; both go afterwards.
func Command(use, short string, flags func(*pflag.FlagSet), validate func(args []string) error,
	measure func(ctx context.Context, r *Result, g *children.Group, progress io.Writer) error) *cobra.Command {
	var format, file string
	c := &cobra.Command{
		Use: use, Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if format != "table" && format != "json" {
				return fmt.Errorf("--output: %q is neither table nor json", format)
			}
			return validate(args)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			g, err := children.NewGroup()
			if err != nil {
				return err
			}
			r := newResult()
			err = errors.Join(measure(c.Context(), r, g, c.ErrOrStderr()), g.Close())
			if len(r.Rows) == 0 {
				return err
			}
			return errors.Join(err, r.write(c.OutOrStdout(), format), r.keep(file), r.missed())
		},
	}
	flags(c.Flags())
	c.Flags().StringVarP(&format, "output", "o", "table", "table or json")
	c.Flags().StringVar(&file, "out", "", "file to keep the result in as well, in JSON, as cmd/bench/results/NAME.json; empty for none")
	return c
}

// Timing is how long a benchmark waits before it measures, and for how long it does.
type Timing struct{ WarmUp, Duration time.Duration }

// Flags adds both, with their defaults.
func (t *Timing) Flags(f *pflag.FlagSet, warmUp, duration time.Duration) {
	f.DurationVar(&t.WarmUp, "warm-up", warmUp, "time before measuring")
	f.DurationVar(&t.Duration, "duration", duration, "time measured")
}

// Validate refuses a negative time, and none to measure.
func (t Timing) Validate() error {
	switch {
	case t.WarmUp < 0:
		return fmt.Errorf("--warm-up: %v is negative", t.WarmUp)
	case t.Duration <= 0:
		return fmt.Errorf("--duration: %v is not positive", t.Duration)
	}
	return nil
}

// Positive refuses the first flag whose value is not positive, and arguments.
func Positive(args []string, flags map[string]int) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	for _, flag := range slices.Sorted(maps.Keys(flags)) {
		if flags[flag] < 1 {
			return fmt.Errorf("--%s: %d is not positive", flag, flags[flag])
		}
	}
	return nil
}
