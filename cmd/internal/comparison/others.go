package comparison

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/compare"
	"github.com/spazio-scheduler/spazio/compare/load"
	"github.com/spazio-scheduler/spazio/report/table"
)

// newComponents returns the command compare components.
func newComponents() *cobra.Command {
	var c compare.Config
	var output string
	cmd := &cobra.Command{
		Use: "components", Args: cobra.NoArgs,
		Short: "Measure what each part of a cluster takes: cores and watts, part by part",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return valid(cmd.Flags(), output, "runs", "duration", "warm-up", "rate", "replicas")
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := compare.EmbeddedComponents(cmd.Context(), c, progress(cmd.ErrOrStderr()))
			return show(cmd, output, r, r.Table(), err)
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Runs, "runs", 3, "runs of all parts")
	f.DurationVar(&c.Duration, "duration", 10*time.Second, "how long a part is measured")
	f.DurationVar(&c.WarmUp, "warm-up", 3*time.Second, "how long it is left alone before")
	f.Float64Var(&c.Rate, "rate", 100, "requests a second of the application under load")
	f.IntVar(&c.Replicas, "replicas", 3, "pods of each tier")
	c.Schedulers = []string{"spazio"}
	f.StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

// newGuests returns the command compare guests.
func newGuests() *cobra.Command {
	var c compare.GuestsConfig
	var output string
	cmd := &cobra.Command{
		Use: "guests", Args: cobra.NoArgs,
		Short:   "Measure how often spazio-power tells guests their energy, by their number",
		PreRunE: func(cmd *cobra.Command, _ []string) error { return valid(cmd.Flags(), output) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := compare.EmbeddedGuests(cmd.Context(), c, progress(cmd.ErrOrStderr()))
			return show(cmd, output, r, r.Table(), err)
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&c.Counts, "counts", []int{1, 4, 8, 12, 16, 20}, "numbers of guests")
	f.DurationVar(&c.Duration, "duration", 30*time.Second, "how long each number is watched")
	f.StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
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

// progress says how far it is.
func progress(stderr io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
}

// show prints a result, or says why there is none.
func show(cmd *cobra.Command, output string, result any, t table.Table, err error) error {
	switch {
	case cmd.Context().Err() != nil:
		return errInterrupted
	case err != nil:
		return refused(err)
	case output == "json":
		return writeJSON(cmd.OutOrStdout(), result)
	}
	return t.WriteText(cmd.OutOrStdout(), table.Terminal)
}

// refused marks what is the caller's.
func refused(err error) error {
	if errors.Is(err, compare.ErrInvalid) || errors.Is(err, load.ErrInvalid) {
		return command.Usage(err)
	}
	return err
}

func writeJSON(w io.Writer, result any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}
