package comparison

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Comparison is what was run: at least one case, and the rows of all. It is a plain
// value, safe for concurrent reading.
type Comparison struct {
	Cases []experiment.Case
	Rows  []experiment.Row
	// LeftOut are experiments that were asked for and could not be run for want of
	// a trace.
	LeftOut []experiment.Experiment
	Runs
}

// Runs says with what a report's runs were made.
type Runs struct {
	Seeds   []uint64
	HeldOut bool     // from tuning
	Set     []string // assignments to Spazio's options
	// Revision is the build that made the runs, if it is to be said.
	Revision string
}

// String is a sentence or two.
func (r Runs) String() string {
	kind := "for tuning"
	if r.HeldOut {
		kind = "held out from tuning"
	}
	text := "No seeds."
	if n := len(r.Seeds); n > 0 {
		text = fmt.Sprintf("%d seeds, %d to %d, and halves of traces, %s.", n, r.Seeds[0], r.Seeds[n-1], kind)
	}
	if len(r.Set) > 0 {
		text += " Spazio with " + strings.Join(r.Set, ", ") + "."
	}
	if r.Revision != "" {
		text += " Made by revision " + r.Revision + "."
	}
	return text
}

// Rows is the rows of a run for machines.
func Rows(rows []experiment.Row) text.Table {
	t := text.Table{Header: []string{"experiment", "scheduler", "seed", "metric", "value", "unit"}}
	for _, row := range rows {
		t.Add(row.Experiment, row.Scheduler, strconv.FormatUint(row.Seed, 10), row.Metric,
			strconv.FormatFloat(row.Value, 'g', -1, 64), row.Unit)
	}
	return t
}

// Tables returns two tables per case, with one line per scheduler, and those of targets, losses and
// findings. Their columns are the most important metrics of the experiment that fit the width; all of
// them if width is 0.
func (c Comparison) Tables(width int) []text.Table {
	lines, ratios := experiment.Summarise(c.Rows), experiment.Ratios(c.Rows, experiment.Default)
	var tables []text.Table
	for _, k := range c.Cases {
		tables = append(tables, c.ofCase(k, lines, ratios, width)...)
	}
	return append(tables, present(c.cores(), c.headlines(), c.targets(), c.losses(), c.findings())...)
}

func (c Comparison) ofCase(k experiment.Case, lines, ratios []experiment.Line, width int) []text.Table {
	means := matrix{
		title:  fmt.Sprintf("%s: mean of %d seeds ± half of the 95 %% interval", k.Label, len(c.Seeds)),
		lines:  of(k.Label, lines),
		cell:   plusMinus,
		metric: columns(k.Experiment.Name, of(k.Label, lines)),
	}
	over := matrix{
		title: k.Label + ": ratio to default, with its 95 % interval",
		lines: others(of(k.Label, ratios)),
		cell:  func(l experiment.Line) string { return interval(l.Interval) },
	}
	// Of others than those that schedulers are judged by a ratio means nothing.
	over.metric = slices.DeleteFunc(columns(k.Experiment.Name, over.lines), func(m string) bool { return !slices.Contains(experiment.Judged(), m) })
	return present(means.table(width), over.table(width))
}

// others leaves out those that ratios are not shown of, in the place of lines.
func others(lines []experiment.Line) []experiment.Line {
	return slices.DeleteFunc(lines, func(l experiment.Line) bool {
		return l.Scheduler == experiment.Default || l.Scheduler == experiment.Idle
	})
}

// of are the lines of a case.
func of(label string, lines []experiment.Line) (own []experiment.Line) {
	for _, l := range lines {
		if l.Experiment == label {
			own = append(own, l)
		}
	}
	return own
}

// present are the tables that have rows.
func present(tables ...text.Table) []text.Table {
	return slices.DeleteFunc(tables, func(t text.Table) bool { return len(t.Rows) == 0 })
}

func (c Comparison) headlines() text.Table {
	t := text.Table{
		Title:  "headlines of spazio, as installed where that was run: ratios that were declared before any run, and the p-values of no difference",
		Header: []string{"experiment", "scheduler", "ratio", "measured", "p", "p by Holm"},
	}
	for _, h := range experiment.Headlines(c.Cases, c.Rows) {
		t.Add(h.Experiment, h.Scheduler, h.Metric+"/"+h.Other, interval(h.Ratio), probability(h.P), probability(h.Adjusted))
	}
	return t
}

// cores is what the experiment services is about.
func (c Comparison) cores() text.Table {
	t := text.Table{
		Title:  "most cores used at a load that was offered at which the p99 of services is at most 1.2 times that alone",
		Header: []string{"experiment", "scheduler", "cores", "ratio to " + experiment.RequestsP98},
	}
	_, rows := experiment.ServiceCores(c.Cases, c.Rows)
	ratios := experiment.Ratios(rows, experiment.RequestsP98)
	for _, l := range experiment.Summarise(rows) {
		ratio := "-"
		for _, r := range ratios {
			if r.Experiment == l.Experiment && r.Scheduler == l.Scheduler {
				ratio = interval(r.Interval)
			}
		}
		t.Add(l.Experiment, l.Scheduler, plusMinus(l), ratio)
	}
	return t
}

func (c Comparison) targets() text.Table {
	t := text.Table{Title: "targets of spazio", Header: []string{"experiment", "target", "measured", "holds"}}
	for _, v := range experiment.Judge(c.Cases, c.Rows, experiment.Spazio) {
		t.Add(v.Experiment, v.Claim, interval(v.Measured), yes(v.Holds))
	}
	return t
}

func (c Comparison) losses() text.Table {
	t := text.Table{
		Title:  "where another scheduler is better than spazio by more than a hundredth: the best one, and spazio's ratio to it",
		Header: []string{"experiment", "metric", "the best", "spazio over it"},
	}
	for _, l := range experiment.Losses(c.Cases, c.Rows, experiment.Spazio) {
		t.Add(l.Experiment, l.Metric, l.Other, interval(l.Ratio))
	}
	return t
}

func (c Comparison) findings() text.Table {
	t := text.Table{
		Title:  "what a fluid prototype found, and what holds here",
		Header: []string{"experiment", "finding", "prototype", "measured", "holds"},
	}
	for _, v := range experiment.JudgeFindings(c.Cases, c.Rows) {
		t.Add(v.Experiment, v.Claim, v.Prototype, interval(v.Measured), yes(v.Holds))
	}
	return t
}
