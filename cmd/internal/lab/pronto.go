package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/prediction"
)

const prontoLong = `evaluate holds Pronto's rejections against the contention that follows, as its paper
does, beside a threshold, a z-score, other models and two coins that reject as often:
on simulated nodes, on a recording of a machine (--recording, of an agent with
--cpu-mode contention --cpu-contention pressure), and on series of utilisation
(--series NAME=DIR, CSV files of CloudWatch or the Grid Workloads Archive). With
EXPERIMENTs it also runs Pronto as a scheduler, with pods of 10 core-seconds unless --work
says otherwise; background needs --trace. --report
writes the page, with pictures and the claims that hold.`

// simulated is for how many seconds simulated nodes are watched.
const simulated = 1200

// prontoFlags are the command line in its own units.
type prontoFlags struct {
	plan
	recording string
	series    []string
}

// newProntoCommand returns the command `spazio-lab pronto`.
func newProntoCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "pronto", Short: "Evaluate Pronto's rejection signal"}
	var f prontoFlags
	evaluate := &cobra.Command{
		Use: "evaluate [EXPERIMENT...]", Short: "Hold rejections against the contention that follows", Long: prontoLong,
		Example: `  spazio-lab pronto evaluate
  spazio-lab pronto evaluate --recording docs/pronto/machine.spazio.gz --report machine.html
  spazio-lab pronto evaluate batch arrivals background --series cloudwatch=DIR --trace DIR \
      --held-out --report pronto.md`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	set := evaluate.Flags()
	f.bind(set)
	set.StringVar(&f.recording, "recording", "", "file, gzipped or not, or directory of a recording of a machine's pressure; empty for none")
	set.StringArrayVar(&f.series, "series", nil, "directory of series of utilisation, as NAME=DIR; may be repeated")
	cmd.AddCommand(evaluate)
	return cmd
}

func (f *prontoFlags) run(ctx context.Context, experiments []string, stdout, stderr io.Writer) error {
	if err := f.validate(); err != nil {
		return command.Usage(err)
	}
	if f.sweep.Work == nil {
		f.sweep.Work = []float64{10}
	}
	cases, _, err := f.cases(f.selection(experiments))
	if err != nil {
		return err
	}
	sources, err := f.sources(ctx)
	if err != nil {
		return err
	}
	result, err := prediction.Evaluate(sources, f.seedsNamed()[0])
	if err != nil {
		return err
	}
	page := prediction.Page{Result: result, Runs: f.runs()}
	page.Runs.Revision = "" // the page is the same as long as what it says is
	if len(cases) > 0 {
		options := f.options(stderr)
		options.Schedulers = prediction.Schedulers()
		if page.Rows, err = f.plan.run(ctx, cases, options); err != nil {
			return err
		}
	}
	if err := f.writeReport("Pronto: what its rejections foretell", page.Write, stderr); err != nil {
		return err
	}
	return f.output.write(stdout, result.Rows, result.Table(), result.Tables()...)
}

// sources are what was asked for, in the order of the page.
func (f *prontoFlags) sources(ctx context.Context) (all []prediction.Source, err error) {
	if f.recording != "" {
		s, err := prediction.ReadRecording(f.recording)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	for _, series := range f.series {
		name, dir, ok := strings.Cut(series, "=")
		if !ok {
			return nil, command.Usage(fmt.Errorf("--series %s, want NAME=DIR: %w", series, errFlag))
		}
		s, err := prediction.ReadSeries(name, os.DirFS(dir))
		if err != nil {
			return nil, fmt.Errorf("--series %s: %w", series, err)
		}
		all = append(all, s)
	}
	s, err := prediction.Simulate(ctx, simulated, f.seedsNamed()[0])
	return append(all, s), err
}
