package lab

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/report/replay"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// errDiffers is returned if --verify finds a report that differs.
var errDiffers = errors.New("the replay differs from the recording")

var errNoSamples = errors.New("no samples of a recording, or none between --from and --to")

// replayFlags are the command line in its own units.
type replayFlags struct {
	set      []string
	plot     string
	output   string
	from, to string
	verify   bool
	dump     bool
}

// newReplayCommand returns the command `spazio-lab replay`.
func newReplayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay FILE|DIR",
		Short: "Run an agent's recording again, as it was or with other options",
		Long: `replay runs what spazio-agent --record has stored through the same pipeline and
reports whether every report comes out the same, bit for bit. With --set it shows
what the reports would have been with other options, and with --plot it draws
the signal, the channels, the pods and the estimates.

The options of --set are
` + strings.Join(text.Wrap(strings.Join(replay.Names(), ", "), 78), "\n") + `.
estimator, rule, caution, allowance, block and half-life are short for
estimator.method, avail.rule, avail.caution, avail.allowance, model.block and
model.half-life.

It exits with 0, with 1 if --verify finds a difference or the recording can't be
read, and with 2 if it was called wrongly. A torn end, as a crash leaves it, is
no difference.`,
		Example: `  spazio-lab replay --verify /var/lib/spazio/recording
  spazio-lab replay --set fleet-share=0.3 --set estimator=joint --plot out.png recording
  spazio-lab replay --from 10m --to 12m --output csv recording/00000003.spazio`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	v := c.Flags()
	v.StringArrayVar(&f.set, "set", nil, "replay with another option, key=value; may be repeated")
	v.StringVar(&f.plot, "plot", "", "also draw into this .png or .svg file, or one .png a panel into this directory")
	v.StringVarP(&f.output, "output", "o", "table", "what to print: table or json (a summary), or csv (every report)")
	v.StringVar(&f.from, "from", "", "leave out what is before this moment (RFC 3339) or span from the start (90s); empty leaves out nothing")
	v.StringVar(&f.to, "to", "", "leave out what is after this moment or span from the start; empty leaves out nothing")
	v.BoolVar(&f.verify, "verify", false, "fail if a report differs")
	v.BoolVar(&f.dump, "dump", false, "print the records as lines of JSON and replay nothing")
	return c
}

func (f replayFlags) run(path string, stdout, stderr io.Writer) error {
	options, err := f.options(stdout)
	if err != nil {
		return command.Usage(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if f.dump {
		return replay.Dump(r, options.Window, stdout, func(torn *recording.TornError) { fmt.Fprintln(stderr, torn) })
	}
	result, err := replay.Run(r, options)
	if bad := field.By(err, "report"); bad != nil && bad.Field == "Set" {
		return command.Usage(fmt.Errorf("--set: %w", err))
	}
	if err != nil {
		return err
	}
	if result.Samples == 0 {
		return fmt.Errorf("%s: %w", path, errNoSamples)
	}
	if f.plot != "" {
		if err := result.Save(f.plot); err != nil {
			return err
		}
	}
	if err := f.print(result, stdout); err != nil {
		return err
	}
	if f.verify && result.Different > 0 {
		return fmt.Errorf("%w: %s", errDiffers, result.First)
	}
	return nil
}

// options are what the flags ask for; the error is the caller's.
func (f replayFlags) options(stdout io.Writer) (o replay.Options, err error) {
	if f.verify && len(f.set) > 0 {
		return o, errors.New("--verify and --set: with other options the reports are meant to differ")
	}
	if f.dump && (f.verify || len(f.set) > 0 || f.plot != "") {
		return o, errors.New("--dump prints the recording alone, without --verify, --set or --plot")
	}
	o = replay.Options{Set: f.set, Draw: f.plot != ""}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("--set: %w", err)
	}
	if o.Window.From, err = replay.ParseBound(f.from); err != nil {
		return o, fmt.Errorf("--from: %w", err)
	}
	if o.Window.To, err = replay.ParseBound(f.to); err != nil {
		return o, fmt.Errorf("--to: %w", err)
	}
	switch f.output {
	case "table", "json":
	case "csv":
		o.CSV = stdout
	default:
		return o, fmt.Errorf("--output: %q is not table, json or csv", f.output)
	}
	if f.plot != "" {
		if err := replay.CheckTarget(f.plot); err != nil {
			return o, fmt.Errorf("--plot: %w", err)
		}
	}
	return o, nil
}

func (f replayFlags) print(r replay.Result, stdout io.Writer) error {
	switch f.output {
	case "json":
		return text.JSON(stdout, struct {
			Revision string `json:"revision"`
			replay.Result
		}{revision(), r})
	case "csv":
		return nil // written as it ran
	}
	if err := r.WriteText(stdout); err != nil {
		return err
	}
	return writeRevision(stdout)
}
