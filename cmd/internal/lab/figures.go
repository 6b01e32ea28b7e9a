package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/figures"
)

const figuresLong = `Draw the figures of the thesis anew, and say of each whether its claim holds.

The figures come from recordings of a real machine that are part of this
program, or, where there is none, from the simulator. The directory gets an SVG,
a PNG and a CSV of each figure, and a page with all of them, their captions and
their verdicts as README.md and index.html. The same seed gives the same bytes.

The table has one line a figure; --output csv or json has one row a figure and
metric. --data takes other recordings, in the format of package
sim/report/figures.`

// figuresFlags are the command line in its own units.
type figuresFlags struct {
	out   string
	only  []string
	list  bool
	seed  uint64
	seeds int
	data  string
	print output
}

// newFiguresCommand returns the command `spazio-lab figures`.
func newFiguresCommand() *cobra.Command {
	var f figuresFlags
	cmd := &cobra.Command{
		Use:   "figures",
		Short: "Draw the figures of the thesis from recordings and the simulator",
		Long:  figuresLong,
		Example: `  spazio-lab figures --list
  spazio-lab figures --out figures
  spazio-lab figures --only 4.6,4.7 --output json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	set := cmd.Flags()
	set.BoolVar(&f.list, "list", false, "list the figures and what they claim, and end")
	set.StringVar(&f.out, "out", "", "directory to draw into; without it only the verdicts are printed")
	set.StringSliceVar(&f.only, "only", nil, "these figures alone (default all)")
	set.Uint64Var(&f.seed, "seed", 1, "seed of what is simulated")
	set.IntVar(&f.seeds, "seeds", 0, "how many seeds schedulers are compared with (default 5)")
	set.StringVar(&f.data, "data", "", "directory of recordings in place of those of this program")
	f.print.bind(set)
	return cmd
}

func (f *figuresFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if f.list {
		return figures.WriteCatalogue(stdout)
	}
	if err := f.validate(); err != nil {
		return command.Usage(err)
	}
	chosen, err := f.chosen()
	if err != nil {
		return command.Usage(fmt.Errorf("--only, --list shows the figures: %w", err))
	}
	if f.out != "" { // ahead of the figures, which take long
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	params := figures.Params{Seed: f.seed, Seeds: f.seeds}
	if f.data != "" {
		params.Data = os.DirFS(f.data)
	}
	var album figures.Album
	for i, figure := range chosen {
		fmt.Fprintf(stderr, "%d of %d figures: %s\n", i+1, len(chosen), figure.ID)
		made, err := figures.Make(ctx, chosen[i:i+1], params)
		if err != nil {
			return err
		}
		if f.out != "" { // each when it is done, for the run may be broken off
			if err := made.Save(f.out); err != nil {
				return err
			}
		}
		album = append(album, made...)
	}
	if f.out != "" {
		if err := album.Save(f.out); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "figures: %s\n", f.out)
	}
	return f.print.write(stdout, album.Rows(), album.Values(), album.Verdicts())
}

func (f *figuresFlags) validate() error {
	if f.seeds < 0 || f.seeds > 1000 {
		return fmt.Errorf("--seeds %d, want 1 to 1000: %w", f.seeds, ErrFlag)
	}
	if f.data != "" {
		if err := checkDirectory("data", f.data); err != nil {
			return err
		}
	}
	return f.print.validate()
}

// chosen are the figures of --only; given without a name it is refused.
func (f *figuresFlags) chosen() ([]figures.Figure, error) {
	if f.only != nil && len(f.only) == 0 {
		return nil, fmt.Errorf("no figure: %w", ErrFlag)
	}
	ids := make([]string, len(f.only))
	for i, id := range f.only {
		ids[i] = strings.TrimSpace(id)
	}
	return figures.ByID(ids...)
}
