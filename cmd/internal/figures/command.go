package figures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

const long = `Draw the figures of the thesis anew, and say of each whether its claim holds.

The figures come from recordings of a real machine that are part of this
program, or, where there is none, from the simulator. The directory gets an SVG,
a PNG and a CSV of each figure, and a page with all of them, their captions and
their verdicts as README.md and index.html. The same seed gives the same bytes.

The table has one line a figure; --output csv or json has one row a figure and
metric. --data takes other recordings, as cmd/internal/figures/record makes
them.`

// flags are the command line in its own units.
type flags struct {
	out    string
	only   []string
	list   bool
	seed   uint64
	seeds  int
	data   string
	output string
}

// NewCommand returns the figures subcommand.
func NewCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "figures",
		Short: "Draw the figures of the thesis from recordings and the simulator",
		Long:  long,
		Example: `  spazio figures --list
  spazio figures --out figures
  spazio figures --only 4.6,4.7 --output json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.list, "list", false, "list the figures and what they claim, and end")
	set.StringVar(&f.out, "out", "", "directory to draw into; without it only the verdicts are printed")
	set.StringSliceVar(&f.only, "only", nil, "these figures alone (default all)")
	set.Uint64Var(&f.seed, "seed", 1, "seed of what is simulated")
	set.IntVar(&f.seeds, "seeds", 0, "how many seeds schedulers are compared with (default 5)")
	set.StringVar(&f.data, "data", "", "directory of recordings in place of those of this program")
	set.StringVarP(&f.output, "output", "o", "table", "table, json or csv")
}

// ErrFlag is a flag with a value out of range; match it with errors.Is.
var ErrFlag = errors.New("out of range")

func (f *flags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if f.list {
		return writeList(stdout, All())
	}
	if f.output != "table" && f.output != "json" && f.output != "csv" {
		return serve.Usage(fmt.Errorf("--output %s, want table, json or csv: %w", f.output, ErrFlag))
	}
	if f.seeds < 0 || f.seeds > 1000 {
		return serve.Usage(fmt.Errorf("--seeds %d, want 1 to 1000: %w", f.seeds, ErrFlag))
	}
	chosen, err := choose(All(), f.only)
	if err != nil {
		return serve.Usage(err)
	}
	params := Params{Seed: f.seed, Seeds: f.seeds}
	if f.data != "" {
		params.Data = os.DirFS(f.data)
	}
	var set album
	for i, figure := range chosen {
		fmt.Fprintf(stderr, "%d of %d figures: %s\n", i+1, len(chosen), figure.ID)
		result, err := figure.Make(ctx, params)
		if err != nil {
			return fmt.Errorf("figure %s: %w", figure.ID, err)
		}
		set = append(set, made{figure, result})
	}
	if f.out != "" {
		if err := set.draw(f.out); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "figures: %s\n", f.out)
	}
	return set.write(stdout, f.output)
}

// choose returns the figures named, in the order of the list; all if names is nil.
func choose(all []Figure, names []string) ([]Figure, error) {
	if names == nil {
		return all, nil
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("--only names no figure: %w", ErrFlag)
	}
	wanted := map[string]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !slices.ContainsFunc(all, func(f Figure) bool { return f.ID == name }) {
			return nil, fmt.Errorf("--only %s, --list shows the figures: %w", name, ErrFlag)
		}
		wanted[name] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(f Figure) bool { return !wanted[f.ID] }), nil
}

func writeList(out io.Writer, all []Figure) error {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%-8s %s: %s\n", f.ID, f.Title, f.Claim)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
