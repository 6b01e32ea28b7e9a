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
// judged metric in which any scheduler differs from the default, with a panel a fleet;
// where energy is known, it is one of what that costs the pods.
func (c Comparison) pictures(p *report.Page, name, base string, lines []experiment.Line) {
	if panels := c.trades(lines, name); len(panels) > 0 {
		p.Picture("energy over sojourn", fmt.Sprintf("%s-%s.svg", base, name),
			fmt.Sprintf("Energy of %s over the 99th percentile of its pods' sojourn, as ratios to kube-scheduler's default, with the 95 %% interval of the energy; low is thrifty, left is quick.", name),
			report.Chart{Panels: panels})
		return
	}
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
				title += ", " + settingWords("fleet", fleet)
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

// besideFleet are the words of a case in a panel of its fleet.
func besideFleet(k experiment.Case) string {
	return CaseWords(strings.Replace(k.Label, "/fleet="+k.Params.Fleet, "", 1))
}

// trades are panels, one a case, of energy over sojourn: low is thrifty, left is quick.
func (c Comparison) trades(lines []experiment.Line, name string) (panels []report.Panel) {
	for _, k := range c.of(name) {
		series, beyond := trade(of(k.Label, lines))
		if len(series) == 0 {
			continue
		}
		panel := report.Panel{
			Title: fmt.Sprintf("%s: energy over sojourn, %s", name, besideFleet(k)),
			X:     report.Axis{Label: "99th percentile of the sojourn time, ratio to default", Log: true, Min: .95, Max: furthest},
			Y:     report.Axis{Label: "energy, ratio to default", Log: true},
			Tall:  true, Series: series, Marks: []report.Mark{{X: 1}},
		}
		if len(beyond) > 0 {
			panel.Title += "; off the edge, sojourn/energy: " + strings.Join(beyond, ", ")
		}
		// Both axes have room for the series: X from below the least, Y in whole tenths.
		low, high := 1., 1.
		for _, s := range series {
			p := s.Points[0]
			if p.X < panel.X.Min {
				panel.X.Min = max(math.Floor(10*p.X), .1) / 10
			}
			if p.Low == p.High {
				p.Low, p.High = p.Y, p.Y
			}
			low, high = min(low, p.Y, p.Low), max(high, p.Y, p.High)
		}
		panel.Y.Min, panel.Y.Max = math.Floor(10*low)/10, math.Ceil(10*high+.01)/10
		panels = append(panels, panel)
	}
	return panels
}

// furthest is the ratio of sojourns up to which schedulers are drawn: those that let pods
// wait for many times as long would press all others into a corner.
const furthest = 1.25

// trade is a dot a scheduler of a case, the default at (1, 1) among them, and in words
// those that are too far off; none where energy is not known.
func trade(lines []experiment.Line) (series []report.Series, beyond []string) {
	sojourn := map[string]float64{}
	for _, l := range lines {
		if l.Metric == "sojourn_p99" {
			sojourn[l.Scheduler] = l.Mean
		}
	}
	for _, l := range lines {
		x := sojourn[l.Scheduler]
		switch {
		case l.Metric != "energy" || !onLog(x) || !onLog(l.Mean):
		case x > furthest:
			beyond = append(beyond, fmt.Sprintf("%s %s/%s", l.Scheduler, number(x), number(l.Mean)))
		default:
			p := report.Point{X: x, Y: l.Mean}
			if l.Low < l.High {
				p.Low, p.High = l.Low, l.High
			}
			series = append(series, report.Series{Name: l.Scheduler, Style: report.Dots, Points: []report.Point{p}})
		}
	}
	return series, beyond
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
