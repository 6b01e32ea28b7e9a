package lab

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
)

const sensitivityLong = `Run experiments under Spazio with each of its constants at other values than its
default, one at a time, and say how much each moves the mean sojourn: the ratio to the
default seed by seed, with its 95 % interval. Without names of experiments these
are batch, arrivals and memory.

The table gives the largest ratio of each constant over all cases and the case,
and the mean over all cases; the constant that moves most comes first. --output
csv or json gives one row a run and metric, with the constant in the name of the
experiment.`

// sensitive is the metric that is compared.
const sensitive = "sojourn_mean"

// sensitivityFlags are the command line in its own units.
type sensitivityFlags struct {
	plan
	scales    []float64
	constants []string
}

func newSensitivityCommand() *cobra.Command {
	var f sensitivityFlags
	cmd := &cobra.Command{
		Use:   "sensitivity [EXPERIMENT...]",
		Short: "Say how much each constant of Spazio matters",
		Long:  sensitivityLong,
		Example: `  spazio-lab simulate sensitivity
  spazio-lab simulate sensitivity batch --work 10 --constants agent.avail.caution,rules.burst --scale .25,.5,2,4`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.bind(cmd.Flags())
	cmd.Flags().Float64SliceVar(&f.scales, "scale", []float64{.5, 1.5}, "what defaults are multiplied by")
	cmd.Flags().StringSliceVar(&f.constants, "constants", nil, "constants to vary (default: all that simulate --list shows)")
	return cmd
}

func (f *sensitivityFlags) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if err := f.validate(); err != nil {
		return command.Usage(err)
	}
	if len(args) == 0 {
		args = []string{"batch", "arrivals", "memory"}
	}
	cases, _, err := f.cases(f.selection(args))
	if err != nil {
		return err
	}
	constants, err := f.varied()
	if err != nil {
		return usage(err)
	}
	variations, err := experiment.Vary(cases, constants, f.scales)
	if err != nil {
		return usage(err)
	}
	for _, v := range variations {
		cases = append(cases, v.Case)
	}
	options := f.options(stderr)
	options.Schedulers = []string{experiment.Spazio}
	rows, err := f.plan.run(ctx, cases, options)
	if err != nil {
		return err
	}
	s := comparison.Sensitivity{Metric: sensitive, Scales: f.scales, Runs: f.runs()}
	s.Of = experiment.Sensitivities(experiment.Effects(variations, rows, s.Metric))
	report := func(to *report.Page, base string) error { s.Report(to, base); return nil }
	if err := f.writeReport("Sensitivity of Spazio to its constants", report, stderr); err != nil {
		return err
	}
	return f.output.write(stdout, rows, comparison.Rows(rows), s.Tables()...)
}

func (f *sensitivityFlags) validate() error {
	for _, s := range f.scales {
		if !(s > 0) || s == 1 || math.IsInf(s, 1) {
			return fmt.Errorf("--scale %g, want finite numbers above 0 other than 1: %w", s, errFlag)
		}
	}
	return f.plan.validate()
}

// varied are the constants to vary.
func (f *sensitivityFlags) varied() ([]experiment.Constant, error) {
	if len(f.constants) == 0 {
		return experiment.Constants(), nil
	}
	var constants []experiment.Constant
	for _, name := range f.constants {
		c, err := experiment.ConstantByName(name)
		if err != nil {
			return nil, err
		}
		constants = append(constants, c)
	}
	return constants, nil
}
