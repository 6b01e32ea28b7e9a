package lab

import (
	"context"
	"fmt"
	"io"
	"os"

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
metric. "spazio-lab simulate findings" shows what was found beyond the thesis's figures.`

// figuresFlags are the command line in its own units.
type figuresFlags struct {
	out   string
	list  bool
	seed  uint64
	print output
}

// newFiguresCommand returns the command `spazio-lab figures`.
func newFiguresCommand() *cobra.Command {
	var f figuresFlags
	cmd := &cobra.Command{
		Use:   "figures [FIGURE...]",
		Short: "Draw the figures of the thesis from recordings and the simulator",
		Long:  figuresLong,
		Example: `  spazio-lab figures --list
  spazio-lab figures --out figures
  spazio-lab figures 4.6 4.7 --output json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	set := cmd.Flags()
	set.BoolVar(&f.list, "list", false, "list the figures and what they claim, and end")
	set.StringVar(&f.out, "out", "", "directory to draw into; without it only the verdicts are printed")
	set.Uint64Var(&f.seed, "seed", 1, "seed of what is simulated")
	f.print.bind(set)
	return cmd
}

func (f *figuresFlags) run(ctx context.Context, ids []string, stdout, stderr io.Writer) error {
	if f.list {
		return figures.WriteCatalogue(stdout)
	}
	if err := f.print.validate(); err != nil {
		return command.Usage(err)
	}
	chosen, err := figures.ByID(ids...)
	if err != nil {
		return command.Usage(fmt.Errorf("--list shows the figures: %w", err))
	}
	if f.out != "" { // ahead of the figures, which take long
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	var album figures.Album
	for i, figure := range chosen {
		fmt.Fprintf(stderr, "%d of %d figures: %s\n", i+1, len(chosen), figure.ID)
		made, err := figures.Make(ctx, chosen[i:i+1], f.seed)
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
