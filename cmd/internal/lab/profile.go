package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/replay"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
)

// newProfileCommand returns the command `spazio-lab profile`.
func newProfileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Evaluate what recommends a workload's requests",
	}
	cmd.AddCommand(newEvaluateCommand())
	return cmd
}

// evaluateFlags are the command line in its own units.
type evaluateFlags struct {
	series      string
	plot        string
	predictions []string
	heldOut     bool
	halfLife    time.Duration
	percentile  float64
	output
}

func newEvaluateCommand() *cobra.Command {
	var f evaluateFlags
	cmd := &cobra.Command{
		Use:   "evaluate --series DIR",
		Short: "Replay recorded series through recommenders",
		Long: `evaluate lets each recommender say, at every sample of every series after its first two
days, what will be enough for the next half hour, and prints how often that held and how
far above the mean it was. The recommenders are the default preset, S. Galantino's profiler
with its defects mended and in its literal form, the Vertical Pod Autoscaler,
Autopilot for services and for batch jobs, koordlet, and one who knows what comes.
--half-life and --percentile add the default preset with these instead of its own.
Each one's percentile is swept; --plot draws these curves. The default's overhead
is compared at each one's quality, also with each series left out in turn. --output
json has the scores by series too.

A second table has each series under the default preset, or under own, and the largest
of all series of a resource in every five minutes, as of a job's replicas. --predictions
writes or draws what is predicted for them.

DIR holds CSV files with a column timestamp and one of cpu_cores and
memory_bytes, files of CloudWatch or the Grid Workloads Archive, or a Prometheus
server's answers to range queries as .json; what holds no series is left out.
An answer without the metric's name, as of an aggregation, is of what the file's
name says (cpu, memory), else values beyond 4096 are bytes.
The default was chosen on first halves: --held-out shows it on what it has not seen.`,
		Example: `  spazio-lab profile evaluate --series data --held-out
  spazio-lab profile evaluate --series data --output json --plot curves.svg
  spazio-lab profile evaluate --series replicas --predictions all.csv --predictions profile.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.series, "series", "", "directory of series, which is needed")
	set.BoolVar(&f.heldOut, "held-out", false, "only the second half of each series")
	set.DurationVar(&f.halfLife, "half-life", 0, "also evaluate the default preset with this half-life of CPU and memory, as own; 0 is its own")
	set.Float64Var(&f.percentile, "percentile", 0, "also evaluate the default preset at the value that this share of samples is below, up to 1, as own; 0 is its own")
	set.StringVar(&f.plot, "plot", "", "also draw the curves into this .png or .svg file")
	set.StringArrayVar(&f.predictions, "predictions", nil, "also write each prediction into this .csv file, or draw them over the usage into this .png or .svg file; may be repeated")
	f.bind(set)
	return cmd
}

func (f *evaluateFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	options, err := f.options()
	if err != nil {
		return command.Usage(err)
	}
	series, err := replay.ReadDir(os.DirFS(f.series))
	if err != nil {
		return err
	}
	if len(series) == 0 {
		return fmt.Errorf("--series %s: %w", f.series, replay.ErrNoSeries)
	}
	options.Progress = (&progress{out: stderr, of: "recommenders"}).show
	result, err := comparison.CompareRecommenders(ctx, series, options)
	if errors.Is(err, replay.ErrShort) {
		return fmt.Errorf("--series %s: %w", f.series, err)
	}
	if err != nil {
		return err
	}
	if f.plot != "" {
		if err := result.Save(f.plot); err != nil {
			return err
		}
	}
	predictions, err := comparison.Predict(series, options)
	if err != nil {
		return err
	}
	for _, path := range f.predictions {
		if err := predictions.Save(path); err != nil {
			return err
		}
	}
	return f.write(stdout, result.Rows, result.Table(), result.Table(), predictions.Table())
}

// checkPredictions refuses a file that predictions can't be saved into.
func checkPredictions(path string) error {
	if filepath.Ext(path) != ".csv" && report.CheckPicture(path) != nil {
		return report.Refuse("path", path, "a file ending in .csv, .png or .svg")
	}
	return nil
}

// own is the default preset with what the flags set, nil if they set nothing.
func (f *evaluateFlags) own() (*profile.Preset, error) {
	switch {
	case f.halfLife != 0 && f.halfLife < time.Second:
		return nil, fmt.Errorf("--half-life %v, want a second or more: %w", f.halfLife, errFlag)
	case !(f.percentile >= 0 && f.percentile <= 1):
		return nil, fmt.Errorf("--percentile %v, want above 0 to 1: %w", f.percentile, errFlag)
	case f.halfLife == 0 && f.percentile == 0:
		return nil, nil
	}
	p := profile.Spazio()
	p.Name = "own"
	for _, r := range []*profile.Rule{&p.CPU, &p.Memory} {
		r.HalfLife = cmp.Or(f.halfLife, r.HalfLife)
		r.Percentile = cmp.Or(f.percentile, r.Percentile)
	}
	return &p, nil
}

// options are what the flags ask for; the error is the caller's.
func (f *evaluateFlags) options() (o replay.Options, err error) {
	if f.series == "" {
		return o, errors.New("--series: name a directory")
	}
	if err := checkDirectory("series", f.series); err != nil {
		return o, err
	}
	o = replay.Options{HeldOut: f.heldOut}
	if o.Own, err = f.own(); err != nil {
		return o, err
	}
	if err := checkFile("plot", f.plot, report.CheckPicture); err != nil {
		return o, err
	}
	for _, path := range f.predictions {
		if err := checkFile("predictions", path, checkPredictions); err != nil {
			return o, err
		}
	}
	return o, f.validate()
}
