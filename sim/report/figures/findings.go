package figures

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// contest is a finding of the fluid prototype and what draws it.
type contest struct {
	// experiments by name, and the values they are run with.
	experiments []string
	sweep       experiment.Sweep
	// metrics are a panel each.
	metrics []string
	// place says in which row and series a scheduler stands; nil means by its
	// name, a series a case.
	place func(c experiment.Case, scheduler string) (row, series string)
	// also are panels drawn first.
	also func(ctx context.Context, p Params) ([]report.Panel, error)
}

var equal = []workload.Law{workload.Equal}

// findings are what a fluid prototype of the whole loop showed of the thesis's
// algorithm; package experiment says what of it is claimed, with its figures.
func findings() []Figure {
	both := []string{"slowdown_p99", "most_pods_per_core"}
	return []Figure{
		{"finding-1", "The thesis's algorithm, and one remedy after another",
			"Taken literally it runs away at light load: a node that underestimates the cost of a pod offers most, is chosen most, churns, and so hides that it is full. Never above the signal, pooled and raised costs end that one by one, at no cost to a batch.",
			contest{experiments: []string{"finding-1-arrivals", "finding-1-batch"}, sweep: experiment.Sweep{Law: equal}, metrics: append(both, "run_mean"), also: fullest}.draw},
		{"finding-1-parts", "Which part of the thesis's algorithm runs away",
			"Without its one scalar cost along u₁ the thesis's algorithm does not run away, whatever else stays.",
			contest{experiments: []string{"finding-1-parts"}, metrics: append(both, "sojourn_mean"), place: withoutPrefix}.draw},
		{"finding-2", "Units of the estimator",
			"On k, whose ruler moves with the load, the runaway is worse than on the headroom in absolute units, and the guarded algorithm makes pods wait.",
			contest{experiments: []string{"finding-2"}, metrics: append(both, "sojourn_mean"), place: byUnit}.draw},
		{"finding-3", "Reports on events against reports with the blocks alone",
			"A report that leaves when a pod ends saves a slot half a second, so short pods end sooner.",
			contest{experiments: []string{"finding-3"}, sweep: experiment.Sweep{Law: equal}, metrics: []string{"makespan"}}.draw},
		{"finding-4", "An allowance for the start-up: none, start-up over run time, twice that",
			"Slots alone starve short pods. The allowance gives most of that back; twice of it a little more, but it begins to run away at w = 10.",
			contest{experiments: []string{"finding-4"}, sweep: experiment.Sweep{Law: equal}, metrics: []string{"makespan", "most_pods_per_core"}}.draw},
		{"finding-5", "Cold start: one pod a core or two",
			"Two pods a core fill fresh nodes at once and make waves; one is smoother.",
			contest{experiments: []string{"finding-5"}, sweep: experiment.Sweep{Law: equal}, metrics: both}.draw},
		{"finding-6", "The floor: an empty node always offers a pod",
			"Without it a bad estimate locks an empty node out.",
			contest{experiments: []string{"finding-6"}, metrics: []string{"sojourn_mean", "least_share"}}.draw},
		{"finding-7", "Makespan misleads on equal sizes",
			"Equal sizes end in rounds, so that even a perfect queue takes longer than sharing; with exponential sizes the same algorithm is ahead.",
			contest{experiments: []string{"finding-7"}, sweep: experiment.Sweep{Work: []float64{10}}, metrics: []string{"makespan"}}.draw},
		{"finding-8", "Mixed pods: what keeps an allowance in bounds",
			"Ahead of confirmation without guards, nodes that are full are filled on. Saturation's veto and slow start keep nearly all of the memory overload and of the time away.",
			contest{experiments: []string{"finding-8"}, metrics: []string{"memory_overload", "run_mean", "most_pods_per_core"}}.draw},
		{"finding-9", "One cost along u₁ against a cost a channel",
			"A cost a channel does about as well on batches of five mixes, and better at light load.",
			contest{experiments: []string{"finding-9-batch", "finding-9-arrivals"}, metrics: []string{"makespan", "run_mean", "slowdown_p99"}, place: byMix}.draw},
	}
}

const (
	defaultSeeds = 5
	comparedOn   = "19 nodes of 4 cores; agents, aggregator and the scheduler's decisions are the real ones; bars are the least and the largest of the seeds"
)

func (f contest) draw(ctx context.Context, p Params) (outcome, error) {
	if p.Seeds == 0 {
		p.Seeds = defaultSeeds
	}
	var r outcome
	if f.also != nil {
		panels, err := f.also(ctx, p)
		if err != nil {
			return outcome{}, err
		}
		r.panels = panels
	}
	cases, rows, err := f.run(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	lines := experiment.Summarise(rows)
	for _, metric := range f.metrics {
		r.panels = append(r.panels, f.panel(cases, lines, metric))
	}
	r.judge(experiment.JudgeFindings(cases, rows))
	r.source = simulated(p.Seed, fmt.Sprintf("%d seeds from there, %s; spazio-lab simulate %s", p.Seeds, comparedOn, strings.Join(f.experiments, " ")))
	return r, nil
}

func (f contest) run(ctx context.Context, p Params) ([]experiment.Case, []experiment.Row, error) {
	var cases []experiment.Case
	for _, name := range f.experiments {
		e, err := experiment.ByName(name)
		if err != nil {
			return nil, nil, err
		}
		more, err := e.Cases(experiment.Params{}, f.sweep)
		if err != nil {
			return nil, nil, err
		}
		cases = append(cases, more...)
	}
	o := experiment.Options{Workers: 2}
	for i := range p.Seeds {
		o.Seeds = append(o.Seeds, p.Seed+uint64(i))
	}
	rows, err := experiment.Run(ctx, cases, o)
	return cases, rows, err
}

// panel draws a metric of all cases: a row a scheduler, bars from the least to the
// largest of the seeds.
func (f contest) panel(cases []experiment.Case, lines []experiment.Line, metric string) report.Panel {
	var dots report.DotPlot
	unit := ""
	for _, c := range cases {
		for _, l := range lines {
			if l.Experiment == c.Label && l.Metric == metric {
				row, series := f.where(c, l.Scheduler)
				dots.Add(row, series, l.Mean, slices.Min(l.Values), slices.Max(l.Values))
				unit = l.Unit
			}
		}
	}
	values := report.Axis{Label: comparison.Words(metric) + ", " + unit}
	if unit == "1" {
		values.Label = comparison.Words(metric)
	}
	least, most := dots.Range()
	if values.Log = least > 0 && most > 4*least; !values.Log {
		values.Max = 1.08 * most
	}
	return dots.Panel(comparison.Words(metric), values)
}

// where is the row and the series of a scheduler in a case.
func (f contest) where(c experiment.Case, scheduler string) (row, series string) {
	if f.place != nil {
		return f.place(c, scheduler)
	}
	if strings.HasSuffix(c.Experiment.Name, "-arrivals") {
		return scheduler, "arrivals, " + comparison.CaseWords(c.Label)
	}
	return scheduler, comparison.CaseWords(c.Label)
}

// judge fills in what of the finding holds.
func (r *outcome) judge(verdicts []experiment.FindingVerdict) {
	held := 0
	var said []string
	for _, v := range verdicts {
		no := " (not so)"
		if v.Holds {
			held++
			no = ""
		}
		said = append(said, fmt.Sprintf("%s in %s: %.3g%s; the prototype: %s", v.Claim, v.Experiment, v.Measured.Mean, no, v.Prototype))
		compared := strings.Join(strings.Fields(v.Claim)[:2], " ") // without the bound
		r.values = append(r.values, value{metricName(v.Experiment + " " + compared), v.Measured.Mean, "1"})
	}
	switch {
	case held == len(verdicts):
		r.verdict = holds
	case held > 0:
		r.verdict = partly
	default:
		r.verdict = fails
	}
	r.measured = fmt.Sprintf("%d of %d hold. %s.", held, len(verdicts), strings.Join(said, ". "))
}

func withoutPrefix(_ experiment.Case, scheduler string) (row, series string) {
	return strings.TrimPrefix(scheduler, "source-"), "one part replaced"
}

// byUnit stands the variants of the source side by side by their unit.
func byUnit(_ experiment.Case, scheduler string) (row, series string) {
	rest, isSource := strings.CutPrefix(scheduler, "source")
	rest, headroom := strings.CutPrefix(rest, "-headroom")
	switch {
	case !isSource:
		return scheduler, scheduler
	case rest == "":
		rest = "-literal"
	}
	if headroom {
		return rest[1:], "absolute headroom"
	}
	return rest[1:], "typical loads k"
}

func byMix(c experiment.Case, scheduler string) (row, series string) {
	if c.Params.Memory == 0 {
		return "arrivals", scheduler
	}
	return fmt.Sprintf("%.0f %% press on memory", 100*c.Params.Memory), scheduler
}
