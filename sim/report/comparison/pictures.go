package comparison

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
)

// pictures draws the ratios to the default of an experiment's cases, one picture a
// judged metric in which any scheduler differs from the default, with a panel a fleet.
func (c Comparison) pictures(p *report.Page, name, base string, lines []experiment.Line) {
	var fleets []experiment.Params // the first case's of each
	for _, k := range c.of(name) {
		if !slices.ContainsFunc(fleets, func(p experiment.Params) bool { return p.Fleet == k.Params.Fleet }) {
			fleets = append(fleets, k.Params)
		}
	}
	for _, metric := range experiment.Judged() {
		if drawn := c.picture(lines, name, fleets, metric); len(drawn.Panels) > 0 {
			p.Picture(Words(metric), fmt.Sprintf("%s-%s-%s.svg", base, name, metric),
				fmt.Sprintf("%s: %s, ratio to kube-scheduler's default with its 95 %% interval.", name, Words(metric)), drawn)
		}
	}
}

// picture draws the ratios of a metric, a panel a fleet, all to one scale.
func (c Comparison) picture(lines []experiment.Line, name string, fleets []experiment.Params, metric string) (drawn report.Chart) {
	axis := report.Axis{Label: "ratio to the default, ← better", Log: true, Min: .5, Max: 1.2}
	if experiment.Better(metric, 1, 0) {
		axis.Label = "ratio to the default, better →"
	}
	var titles []string
	var panels []report.DotPlot
	for _, fleet := range fleets {
		dots, differ := c.ratios(lines, name, fleet.Fleet, metric)
		if !differ {
			continue
		}
		low, high := dots.Range()
		axis.Min, axis.Max = min(axis.Min, low/1.1), max(axis.Max, high*1.1)
		titles, panels = append(titles, Words(metric)+", "+fleet.Machines()), append(panels, dots)
	}
	for i := range panels {
		panel := panels[i].Panel(titles[i], axis)
		panel.Marks = []report.Mark{{X: 1}}
		drawn.Panels = append(drawn.Panels, panel)
	}
	return drawn
}

// of are the cases of an experiment.
func (c Comparison) of(name string) []experiment.Case {
	return slices.DeleteFunc(slices.Clone(c.Cases), func(k experiment.Case) bool { return k.Experiment.Name != name })
}

// ratios collects what a logarithmic axis can show of a fleet's cases, a row per scheduler and a
// series per case, and reports whether any scheduler differs from the default.
func (c Comparison) ratios(lines []experiment.Line, name, fleet, metric string) (dots report.DotPlot, differ bool) {
	for _, k := range c.of(name) {
		if k.Params.Fleet != fleet {
			continue
		}
		for _, l := range others(of(k.Label, lines)) {
			if l.Metric != metric || !onLog(l.Mean) {
				continue
			}
			low, high := l.Low, l.High
			if !onLog(low) || !onLog(high) {
				low, high = l.Mean, l.Mean
			}
			dots.Add(cmp.Or(schedulers[l.Scheduler], l.Scheduler), pictured(k), l.Mean, low, high)
			differ = differ || l.Mean != 1 || low < 1
		}
	}
	return dots, differ
}

func onLog(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
