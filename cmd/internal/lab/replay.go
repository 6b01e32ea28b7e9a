package lab

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// errDiffers is returned if --verify finds a report that differs.
var errDiffers = errors.New("the replay differs from the recording")

var errNoSamples = errors.New("no samples of a recording")

// replayFlags are the command line in its own units.
type replayFlags struct {
	set    []string
	output string
	verify bool
}

// newReplayCommand returns the command `spazio-lab replay`.
func newReplayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay FILE|DIR",
		Short: "Run an agent's recording again, as it was or with other options",
		Long: `replay runs what spazio-agent --record has stored through the same pipeline and
reports whether every report comes out the same, bit for bit. With --set it shows
what the reports would have been with other options, and with --output csv every
report as it was and as it would have been.

The options of --set are
` + strings.Join(text.Wrap(strings.Join(replayOptions(new(agent.Config)).Names(), ", "), 78), "\n") + `.

It exits with 0, with 1 if --verify finds a difference or the recording can't be
read, and with 2 if it was called wrongly. A torn end, as a crash leaves it, is
no difference.`,
		Example: `  spazio-lab replay --verify /var/lib/spazio/recording
  spazio-lab replay --set fleet-share=0.3 --set estimator.method=joint recording
  spazio-lab replay --output csv recording/00000003.spazio`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args[0], c.OutOrStdout())
		},
	}
	v := c.Flags()
	v.StringArrayVar(&f.set, "set", nil, "replay with another option, key=value; may be repeated")
	v.StringVarP(&f.output, "output", "o", "table", "what to print: table or json (a summary), or csv (every report)")
	v.BoolVar(&f.verify, "verify", false, "fail if a report differs")
	return c
}

func (f replayFlags) run(path string, stdout io.Writer) error {
	if err := f.validate(); err != nil {
		return command.Usage(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	var csv io.Writer
	if f.output == "csv" {
		csv = stdout
	}
	result, err := replayRecording(r, f.set, csv)
	if errors.Is(err, errSet) {
		return command.Usage(err)
	}
	if err != nil {
		return err
	}
	if result.Samples == 0 {
		return fmt.Errorf("%s: %w", path, errNoSamples)
	}
	if err := f.print(&result, stdout); err != nil {
		return err
	}
	if f.verify && result.Different > 0 {
		return fmt.Errorf("%w: %s", errDiffers, result.First)
	}
	return nil
}

// validate returns the caller's error.
func (f replayFlags) validate() error {
	if f.verify && len(f.set) > 0 {
		return errors.New("--verify and --set: with other options the reports are meant to differ")
	}
	if err := checkAssignments(f.set); err != nil {
		return err
	}
	if !slices.Contains([]string{"table", "json", "csv"}, f.output) {
		return fmt.Errorf("--output: %q is not table, json or csv", f.output)
	}
	return nil
}

func (f replayFlags) print(r *replaySummary, stdout io.Writer) error {
	switch f.output {
	case "json":
		return text.JSON(stdout, struct {
			Revision string `json:"revision"`
			replaySummary
		}{revision(), *r})
	case "csv":
		return nil // written as it ran
	}
	if err := r.writeText(stdout); err != nil {
		return err
	}
	return writeRevision(stdout)
}
