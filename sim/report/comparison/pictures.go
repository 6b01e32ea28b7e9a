package comparison

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
)

// pictures draws the ratios to the default of an experiment's cases, one picture a
// judged metric in which any scheduler differs from the default, with a panel a fleet.
func (c Comparison) pictures(p *report.Page, name, base string, lines []experiment.Line) {
	var fleets []string
	for _, k := range c.of(name) {
		if !slices.Contains(fleets, k.Params.Fleet) {
			fleets = append(fleets, k.Params.Fleet)
		}
	}
	for _, metric := range experiment.Judged() {
		var drawn report.Chart
		for _, fleet := range fleets {
			dots, differ := c.ratios(lines, name, fleet, metric)
			if !differ {
				continue
			}
			title := fmt.Sprintf("%s: %s over the default's", name, Words(metric))
			if fleet != "" {
				title += ", " + fleet
			}
			low, high := dots.Range()
			panel := dots.Panel(title, report.Axis{Label: "ratio to default", Log: true, Min: min(.5, low/1.1), Max: max(1.2, high*1.1)})
			panel.Marks = []report.Mark{{X: 1}}
			drawn.Panels = append(drawn.Panels, panel)
		}
		if len(drawn.Panels) > 0 {
			p.Picture(metric, fmt.Sprintf("%s-%s-%s.svg", base, name, metric),
				fmt.Sprintf("%s of %s, ratio to kube-scheduler's default with its 95 %% interval; left of 1 is less.", metric, name), drawn)
		}
	}
}

// of are the cases of an experiment.
func (c Comparison) of(name string) []experiment.Case {
	return slices.DeleteFunc(slices.Clone(c.Cases), func(k experiment.Case) bool { return k.Experiment.Name != name })
}

// besideFleet are the settings of a case in a panel of its fleet.
func besideFleet(k experiment.Case) string {
	return settingsOf(strings.Replace(k.Label, "/fleet="+k.Params.Fleet, "", 1))
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
			dots.Add(l.Scheduler, besideFleet(k), l.Mean, low, high)
			differ = differ || l.Mean != 1 || low < 1
		}
	}
	return dots, differ
}

func onLog(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
