package simulate

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/report/page"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

const sensitivityLong = `Run experiments under Spazio with each of its constants at other values than its
default, one at a time, and say how much each moves a metric: the ratio to the
default seed by seed, with its 95 % interval. Without names of experiments these
are b1, b2 and b3.

The table gives the largest ratio of each constant over all cases and the case,
and the mean over all cases; the constant that moves most comes first. --output
csv or json gives one row a run and metric, with the constant in the name of the
experiment.`

// tolerance is how far a constant may move the metric at half and at one and a
// half times its default.
const tolerance = .1

// sensitivityFlags are the command line in its own units.
type sensitivityFlags struct {
	plan
	scales    []float64
	constants []string
	metric    string
}

func newSensitivityCommand() *cobra.Command {
	var f sensitivityFlags
	cmd := &cobra.Command{
		Use:   "sensitivity [EXPERIMENT...]",
		Short: "Say how much each constant of Spazio matters",
		Long:  sensitivityLong,
		Example: `  spazio simulate sensitivity
  spazio simulate sensitivity b1 --work 10 --constants agent.avail.caution,rules.burst --scale .25,.5,2,4`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.bind(cmd.Flags())
	cmd.Flags().Float64SliceVar(&f.scales, "scale", []float64{.5, 1.5}, "what defaults are multiplied by")
	cmd.Flags().StringSliceVar(&f.constants, "constants", nil, "constants to vary (default: all that simulate --list shows)")
	cmd.Flags().StringVar(&f.metric, "metric", "sojourn_mean", "the metric that is compared")
	return cmd
}

func (f *sensitivityFlags) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if err := f.validate(); err != nil {
		return serve.Usage(err)
	}
	if len(args) == 0 {
		args = []string{"b1", "b2", "b3"}
	}
	cases, _, err := f.cases(args)
	if err != nil {
		return usage(err)
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
	rows, err := experiment.Run(ctx, cases, options)
	if err != nil {
		return usage(err)
	}
	effects := experiment.Effects(variations, rows, f.metric)
	if len(effects) == 0 {
		return serve.Usage(fmt.Errorf("--metric %s, which no case has: %w", f.metric, ErrFlag))
	}
	s := sensitivity{plan: &f.plan, metric: f.metric, scales: f.scales, of: experiment.Sensitivities(effects)}
	if err := f.writeReport("Sensitivity of Spazio to its constants", s.report, stderr); err != nil {
		return err
	}
	return f.write(stdout, rows, s.tables)
}

func (f *sensitivityFlags) validate() error {
	for _, s := range f.scales {
		if !(s > 0) || s == 1 || math.IsInf(s, 1) {
			return fmt.Errorf("--scale %g, want finite numbers above 0 other than 1: %w", s, ErrFlag)
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

// sensitivity is what was found.
type sensitivity struct {
	plan   *plan
	metric string
	scales []float64
	of     []experiment.Sensitivity
}

func (s sensitivity) tables() string {
	var b strings.Builder
	for i, t := range append([]page.Table{s.table()}, s.delicate()...) {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", t.Title)
		t.WriteAligned(&b)
	}
	return b.String()
}

// table has a row a constant.
func (s sensitivity) table() page.Table {
	t := page.Table{Title: fmt.Sprintf("%s with one constant changed over that with its default: the largest change of all cases with its 95 %% interval, and the mean of all cases", s.metric)}
	header := []string{"constant", "default"}
	for _, scale := range s.scales {
		header = append(header, fmt.Sprintf("×%g: largest change", scale), "mean")
	}
	t.Rows = append(t.Rows, append(header, "all within 10 %"))
	for _, c := range s.of {
		row := []string{c.Constant.Name, c.Constant.At(1)}
		for _, scale := range s.scales {
			row = append(row, largest(c.Effects, scale)...)
		}
		t.Rows = append(t.Rows, append(row, yes(stays(c))))
	}
	return t
}

// stays says whether no change is beyond the tolerance.
func stays(s experiment.Sensitivity) bool {
	return !slices.ContainsFunc(s.Effects, beyondTolerance)
}

// largest gives the largest of the effects at a scale, and their geometric mean.
func largest(effects []experiment.Effect, scale float64) []string {
	var worst *experiment.Effect
	logs, n := 0., 0.
	for i, e := range effects {
		if e.Scale != scale {
			continue
		}
		if worst == nil || e.Size() > worst.Size() {
			worst = &effects[i]
		}
		logs, n = logs+math.Log(e.Mean), n+1
	}
	if worst == nil {
		return []string{"-", "-"}
	}
	return []string{
		fmt.Sprintf("%s: %s in %s", worst.Value, interval(worst.Interval), worst.Of), figure(math.Exp(logs / n)),
	}
}

// delicate has a table for each constant that moves a case beyond the tolerance,
// with those cases.
func (s sensitivity) delicate() []page.Table {
	var tables []page.Table
	for _, c := range s.of {
		if stays(c) {
			continue
		}
		t := table{Title: fmt.Sprintf("cases that %s, default %s, moves by more than 10 %%", c.Constant.Name, c.Constant.At(1))}
		t.fillEffects(c.Effects)
		tables = append(tables, page.Table(t))
	}
	return tables
}

// fillEffects adds the header and a row for each case with an effect beyond the
// tolerance.
func (t *table) fillEffects(effects []experiment.Effect) {
	header := []string{"case"}
	rows, beyond := map[string][]string{}, map[string]bool{}
	var order []string
	for _, e := range effects {
		column := slices.Index(header, e.Value)
		if column < 0 {
			column = len(header)
			header = append(header, e.Value)
		}
		row, ok := rows[e.Of]
		if !ok {
			order = append(order, e.Of)
			row = []string{e.Of}
		}
		for len(row) <= column {
			row = append(row, "-")
		}
		row[column] = interval(e.Interval)
		rows[e.Of] = row
		beyond[e.Of] = beyond[e.Of] || beyondTolerance(e)
	}
	t.Rows = append(t.Rows, header)
	for _, of := range order {
		if beyond[of] {
			t.Rows = append(t.Rows, rows[of])
		}
	}
}

func beyondTolerance(e experiment.Effect) bool { return math.Abs(e.Mean-1) > tolerance }

const sensitivityMethod = `Each constant was multiplied alone; whole numbers are rounded, and a value stays within its option's range. A ratio is that of a case with the changed constant to the same case with the default, seed by seed, averaged geometrically, with its 95 % confidence interval (Student's t on logarithms). In the picture every dot is a case.`

func (s sensitivity) report(p page.Page, base string) (map[string][]byte, error) {
	p.Paragraph(provenance(s.plan.seedsNamed(), s.plan.params.HeldOut, s.plan.params.Set))
	p.Paragraph(sensitivityMethod)
	svg, err := s.picture()
	if err != nil {
		return nil, fmt.Errorf("draw the sensitivities: %w", err)
	}
	file := base + ".svg"
	p.Picture(page.Picture{
		Name: s.metric, Caption: s.metric + " with one constant changed over that with its default; dashed lines are 10 % less and more.",
		File: file, SVG: svg,
	})
	kept := 0
	for _, c := range s.of {
		if stays(c) {
			kept++
		}
	}
	p.Paragraph(fmt.Sprintf("%d of %d constants move no case by more than 10 %%.", kept, len(s.of)))
	p.Table(s.table())
	if tables := s.delicate(); len(tables) > 0 {
		p.Heading(2, "The others, case by case")
		for _, t := range tables {
			p.Table(t)
		}
	}
	return map[string][]byte{file: svg}, nil
}
