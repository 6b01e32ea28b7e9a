package lab

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/tuning"
)

// tuningFlags are the command line in its own units.
type tuningFlags struct {
	scenarios, tuners []string
	seeds             int
	heldOut           bool
	plot              string
	output
}

func newTuningCommand() *cobra.Command {
	var f tuningFlags
	cmd := &cobra.Command{
		Use:     "application",
		Aliases: []string{"cp"},
		Short:   "Correct the requests of an application's services while it serves",
		Long: `application runs S. Galantino's application test in the simulator: ten services that call
one another for three hours, whose CPU requests a profiler that begins with nothing sets every ten
minutes, and their limits to twice that. The limits at first are none ("unlimited"),
the developers' ("default"), these less a third ("cut"), or less a third where they
seem more than enough ("cut-some"). The tuners are the recommender with the
continuous profiler ("spazio"), without ("recommender"), the thesis's two profilers as
written with the ten services as one application ("seed") and with the strongly
connected components of their calls, which are ten ("seed-scc"), and none ("none").

The table has the time after which the latency of a visit stays as it ends, what is
requested in the end beside the least that is enough, and the service that its limit
holds up most in the last half hour.`,
		Example: `  spazio-lab simulate application --held-out
  spazio-lab simulate application --limits cut --tuners spazio,seed --seeds 1 --plot settling.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.StringSliceVar(&f.scenarios, "limits", texts(tuning.Scenarios()), "limits at first")
	set.StringSliceVar(&f.tuners, "tuners", texts(tuning.Tuners()), "who corrects the requests")
	set.IntVar(&f.seeds, "seeds", 10, "how many seeds to run")
	set.BoolVar(&f.heldOut, "held-out", false, "take the seeds that are not for tuning")
	set.StringVar(&f.plot, "plot", "", "also draw the first seed's runs into this .png or .svg file; of one tuner and one kind of limits, its services")
	f.bind(set)
	return cmd
}

func (f *tuningFlags) run(ctx context.Context, stdout io.Writer) error {
	if err := f.check(); err != nil {
		return command.Usage(err)
	}
	seeds := experiment.Seeds(f.seeds, 0, f.heldOut)
	runs, err := tuning.Run(ctx, named[tuning.Scenario](f.scenarios), named[tuning.Tuner](f.tuners), seeds, tuning.Config{}, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	if f.plot != "" {
		if err := runs.Save(f.plot); err != nil {
			return err
		}
	}
	return f.write(stdout, runs, runs.Table(), runs.Table())
}

// check refuses what no run could be made of, before the first is.
func (f *tuningFlags) check() error {
	if err := checkSeeds(f.seeds); err != nil {
		return err
	}
	if len(f.scenarios) == 0 || len(f.tuners) == 0 {
		return fmt.Errorf("--limits, --tuners: name at least one: %w", errFlag)
	}
	for _, s := range named[tuning.Scenario](f.scenarios) {
		for _, t := range named[tuning.Tuner](f.tuners) {
			if err := (tuning.Config{Scenario: s, Tuner: t}).Validate(); err != nil {
				return err
			}
		}
	}
	if err := checkFile("plot", f.plot, report.CheckPicture); err != nil {
		return err
	}
	return f.validate()
}

func texts[T ~string](all []T) (texts []string) {
	for _, v := range all {
		texts = append(texts, string(v))
	}
	return texts
}

func named[T ~string](texts []string) (all []T) {
	for _, v := range texts {
		all = append(all, T(v))
	}
	return all
}
