package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/compare"
	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// spazio is a configuration of Spazio alone.
func spazio() compare.Config {
	c := compare.DefaultConfig()
	c.Schedulers = []string{"spazio"}
	return c
}

// newComponents returns the command compare components.
func newComponents() *cobra.Command {
	c := spazio()
	cmd, f := measuring("components", "Measure what each part of a cluster takes: cores and watts, part by part",
		func(ctx context.Context, say progressed) (measured, error) {
			return compare.EmbeddedComponents(ctx, c, say)
		}, "runs", "duration", "warm-up", "rate", "replicas")
	f.IntVar(&c.Runs, "runs", 3, "runs of all parts")
	f.DurationVar(&c.Duration, "duration", 10*time.Second, "how long a part is measured")
	f.DurationVar(&c.WarmUp, "warm-up", 3*time.Second, "how long it is left alone before")
	f.Float64Var(&c.Rate, "rate", 100, "requests a second of the application under load")
	f.IntVar(&c.Replicas, "replicas", 3, "pods of each tier")
	return cmd
}

// newFollowing returns the command compare following.
func newFollowing() *cobra.Command {
	c := spazio()
	cmd, f := measuring("following", "Measure how a guest's energy follows its processor time, with all CPUs busy",
		func(ctx context.Context, say progressed) (measured, error) {
			return compare.EmbeddedFollowing(ctx, c, say)
		}, "duration", "warm-up")
	f.DurationVar(&c.Duration, "duration", time.Minute, "how long a guest is followed, by itself and as a node")
	f.DurationVar(&c.WarmUp, "warm-up", 5*time.Second, "how long the CPUs are busy before")
	return cmd
}

// newGuests returns the command compare guests.
func newGuests() *cobra.Command {
	var c compare.GuestsConfig
	cmd, f := measuring("guests", "Measure how often spazio-host-energy informs guests of their energy, by their number",
		func(ctx context.Context, say progressed) (measured, error) {
			return compare.EmbeddedGuests(ctx, c, say)
		})
	f.IntSliceVar(&c.Counts, "counts", []int{1, 4, 8, 12, 16, 20}, "numbers of guests")
	f.DurationVar(&c.Duration, "duration", 30*time.Second, "how long each number is watched")
	return cmd
}

// measured is what a command has measured.
type measured interface {
	Table() text.Table
	Save(dir string) error
}

// progressed writes a line of progress.
type progressed = func(format string, args ...any)

// measuring returns a command that prints what is measured, and saves it, with its flags;
// those of above0 must be that.
func measuring(use, short string, measure func(context.Context, progressed) (measured, error), above0 ...string) (*cobra.Command, *pflag.FlagSet) {
	var output, out string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return valid(cmd.Flags(), output, above0...) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := measure(cmd.Context(), progress(cmd.ErrOrStderr()))
			switch {
			case cmd.Context().Err() != nil:
				return command.ErrInterrupted
			case err != nil:
				return refused(err)
			}
			if out != "" {
				if err := r.Save(out); err != nil {
					return err
				}
			}
			if output == "json" {
				return text.JSON(cmd.OutOrStdout(), r)
			}
			return r.Table().WriteText(cmd.OutOrStdout(), text.Terminal)
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "directory for the figure, with its table as a page, as CSV and as JSON; empty for none")
	f.StringVarP(&output, "output", "o", "table", "what to print at the end: table or json")
	return cmd, f
}

// errZero is a zero that a configuration would take for its default.
var errZero = errors.New("must be above 0")

// valid refuses an output that there is not, and zeros of the flags of these names.
func valid(set *pflag.FlagSet, output string, above0 ...string) error {
	if output != "table" && output != "json" {
		return fmt.Errorf("--output: %q is neither table nor json", output)
	}
	for _, name := range above0 {
		if v := set.Lookup(name).Value.String(); v == "0" || v == "0s" {
			return fmt.Errorf("--%s: %w", name, errZero)
		}
	}
	return nil
}

// progress returns a function that writes lines of progress.
func progress(stderr io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
}

// refused marks what is the caller's.
func refused(err error) error {
	if errors.Is(err, compare.ErrInvalid) || errors.Is(err, social.ErrInvalid) {
		return command.Usage(err)
	}
	return err
}
