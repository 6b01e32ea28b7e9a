package replay

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// ErrDiffers says that --verify found a report that differs.
var ErrDiffers = errors.New("the replay differs from the recording")

// flags of spazio replay.
type flags struct {
	set      []string
	plot     string
	output   string
	from, to string
	verify   bool
	dump     bool
}

// NewCommand returns the command spazio replay.
func NewCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "replay FILE|DIR",
		Short: "Run an agent's recording again, as it was or with other options",
		Long: `replay runs what spazio-agent --record has stored through the same pipeline and
says whether every report comes out the same, bit for bit. With --set it says
what the reports would have been with other options, and with --plot it draws
the signal, the channels, the pods and the estimates.

The options of --set are
` + nameLines() + `.
estimator, rule, caution, allowance, block and half-life are short for
estimator.method, avail.rule, avail.caution, avail.allowance, model.block and
model.half-life.

It exits with 0, with 1 if --verify finds a difference or the recording can't be
read, and with 2 if it was called wrongly. A torn end, as a crash leaves it, is
no difference.`,
		Example: `  spazio replay --verify /var/lib/spazio/recording
  spazio replay --set fleet-share=0.3 --set estimator=joint --plot out.png recording
  spazio replay --from 10m --to 12m --output csv recording/00000003.spazio`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	v := c.Flags()
	v.StringArrayVar(&f.set, "set", nil, "replay with another option, key=value; may be repeated")
	v.StringVar(&f.plot, "plot", "", "draw into this .png or .svg file, or one .png a panel into this directory")
	v.StringVar(&f.output, "output", "table", "what to print: table or json (a summary), or csv (every report)")
	v.StringVar(&f.from, "from", "", "leave out what is before this moment (RFC 3339) or span from the start (90s)")
	v.StringVar(&f.to, "to", "", "leave out what is after this moment or span from the start")
	v.BoolVar(&f.verify, "verify", false, "fail if a report differs")
	v.BoolVar(&f.dump, "dump", false, "print the records as lines of JSON and replay nothing")
	return c
}

func (f flags) run(path string, stdout, stderr io.Writer) error {
	p, err := f.player(stdout)
	if err != nil {
		return serve.Usage(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if f.dump {
		return dump(r, p.window, stdout, stderr)
	}
	if err := p.play(r); err != nil {
		return err
	}
	if p.picture != nil {
		if err := p.picture.save(f.plot); err != nil {
			return err
		}
	}
	if err := f.print(p, stdout); err != nil {
		return err
	}
	if f.verify && p.summary.Different > 0 {
		return fmt.Errorf("%w: %s", ErrDiffers, p.summary.First)
	}
	return nil
}

// player is what the flags ask for; its errors are the caller's.
func (f flags) player(stdout io.Writer) (*player, error) {
	if f.verify && len(f.set) > 0 {
		return nil, errors.New("--verify and --set: with other options the reports are meant to differ")
	}
	if f.dump && (f.verify || len(f.set) > 0 || f.plot != "") {
		return nil, errors.New("--dump prints the recording alone, without --verify, --set or --plot")
	}
	p := &player{summary: summary{Options: f.set}}
	var err error
	if p.override, err = override(f.set); err != nil {
		return nil, fmt.Errorf("--set: %w", err)
	}
	if p.window.from, err = parseBound(f.from); err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	if p.window.to, err = parseBound(f.to); err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	switch f.output {
	case "table", "json":
	case "csv":
		p.rows = newRows(stdout)
	default:
		return nil, fmt.Errorf("--output: %q is not table, json or csv", f.output)
	}
	if f.plot != "" {
		if err := checkTarget(f.plot); err != nil {
			return nil, fmt.Errorf("--plot: %w", err)
		}
		p.picture = &picture{rerun: p.override != nil}
	}
	return p, nil
}

func (f flags) print(p *player, stdout io.Writer) error {
	switch f.output {
	case "json":
		return p.summary.writeJSON(stdout)
	case "csv":
		return p.rows.flush()
	}
	return p.summary.writeTable(stdout)
}
