package comparison

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report/chart"
	"github.com/spazio-scheduler/spazio/sim/report/page"
)

// pictures draws the ratios to the default of an experiment's cases, one picture a
// judged metric in which any scheduler differs from the default, with a panel a fleet;
// where energy is known, it is one of what that costs the pods.
func (c Comparison) pictures(name, base string) ([]page.Picture, error) {
	lines := experiment.Ratios(c.Rows, experiment.Default)
	if panels := c.trades(lines, name); len(panels) > 0 {
		return tradePicture(panels, name, base)
	}
	var all []page.Picture
	for _, metric := range experiment.Judged() {
		var panels []chart.Panel
		for _, fleet := range c.fleets(name) {
			dots, differ := c.ratios(lines, name, fleet, metric)
			if !differ {
				continue
			}
			title := fmt.Sprintf("%s: %s over the default's", strings.ToUpper(name), Words(metric))
			if fleet != "" {
				title += ", " + settingWords("fleet", fleet)
			}
			panel := dots.Panel(title, ratioAxis(dots))
			panel.Marks = []chart.Mark{{X: 1}}
			panels = append(panels, panel)
		}
		if len(panels) == 0 {
			continue
		}
		svg, err := drawn(panels)
		if err != nil {
			return nil, fmt.Errorf("draw %s of %s: %w", metric, name, err)
		}
		all = append(all, page.Picture{
			Name: metric, File: fmt.Sprintf("%s-%s-%s.svg", base, name, metric), SVG: svg,
			Caption: fmt.Sprintf("%s of %s, ratio to kube-scheduler's default with its 95 %% interval; left of 1 is less.", metric, name),
		})
	}
	return all, nil
}

// trades are panels, one a case, of energy over sojourn: low is thrifty, left is quick.
func (c Comparison) trades(lines []experiment.Line, name string) (panels []chart.Panel) {
	for _, k := range c.Cases {
		if k.Experiment.Name != name {
			continue
		}
		series, beyond := trade(of(k.Label, lines))
		if len(series) == 0 {
			continue
		}
		title := fmt.Sprintf("%s: energy over sojourn, %s", strings.ToUpper(name), CaseWords(strings.Replace(k.Label, "/fleet="+k.Params.Fleet, "", 1)))
		if len(beyond) > 0 {
			title += "; off the edge, sojourn/energy: " + strings.Join(beyond, ", ")
		}
		panels = append(panels, chart.Panel{
			Title: title,
			X:     chart.Axis{Label: "99th percentile of the sojourn time, ratio to default", Log: true, Min: nearest(series), Max: furthest},
			Y:     tradeAxis(series),
			Tall:  true, Series: series, Marks: []chart.Mark{{X: 1}},
		})
	}
	return panels
}

// furthest is the ratio of sojourns up to which schedulers are drawn: those that let pods
// wait for many times as long would press all others into a corner.
const furthest = 1.25

// nearest is a ratio of sojourns below which there is no scheduler, in tenths.
func nearest(series []chart.Series) float64 {
	x := .95
	for _, s := range series {
		for _, p := range s.Points {
			if p.X < x {
				x = max(math.Floor(10*p.X), .1) / 10
			}
		}
	}
	return x
}

// tradeAxis has room for the series, in whole tenths.
func tradeAxis(series []chart.Series) chart.Axis {
	low, high := 1., 1.
	for _, s := range series {
		for _, p := range s.Points {
			low, high = min(low, p.Y), max(high, p.Y)
			if p.Low < p.High {
				low, high = min(low, p.Low), max(high, p.High)
			}
		}
	}
	return chart.Axis{Label: "energy, ratio to default", Log: true, Min: math.Floor(10*low) / 10, Max: math.Ceil(10*high+.01) / 10}
}

func tradePicture(panels []chart.Panel, name, base string) ([]page.Picture, error) {
	svg, err := drawn(panels)
	if err != nil {
		return nil, fmt.Errorf("draw energy over sojourn of %s: %w", name, err)
	}
	return []page.Picture{{
		Name: "energy over sojourn", File: fmt.Sprintf("%s-%s.svg", base, name), SVG: svg,
		Caption: fmt.Sprintf("Energy of %s over the 99th percentile of its pods' sojourn, as ratios to kube-scheduler's default, with the 95 %% interval of the energy; low is thrifty, left is quick.", name),
	}}, nil
}

// trade is a dot a scheduler of a case, the default at (1, 1) among them, and in words
// those that are too far off; none where energy is not known.
func trade(lines []experiment.Line) (series []chart.Series, beyond []string) {
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
			p := chart.Point{X: x, Y: l.Mean}
			if l.Low < l.High {
				p.Low, p.High = l.Low, l.High
			}
			series = append(series, chart.Series{Name: l.Scheduler, Style: chart.Dots, Points: []chart.Point{p}})
		}
	}
	return series, beyond
}

// fleets are those of an experiment's cases, each once.
func (c Comparison) fleets(name string) (fleets []string) {
	for _, k := range c.Cases {
		if k.Experiment.Name == name && !slices.Contains(fleets, k.Params.Fleet) {
			fleets = append(fleets, k.Params.Fleet)
		}
	}
	return fleets
}

// ratioAxis has 1 and room on either side of it.
func ratioAxis(dots *chart.DotPlot) chart.Axis {
	low, high := dots.Range()
	return chart.Axis{Label: "ratio to default", Log: true, Min: min(.5, low/1.1), Max: max(1.2, high*1.1)}
}

func drawn(panels []chart.Panel) ([]byte, error) {
	var svg bytes.Buffer
	err := chart.Chart{Panels: panels}.WriteSVG(&svg)
	return svg.Bytes(), err
}

// ratios collects what a logarithmic axis can show of a fleet's cases, a row a
// scheduler and a series a case, and says whether there is anything to see.
func (c Comparison) ratios(lines []experiment.Line, name, fleet, metric string) (dots *chart.DotPlot, differ bool) {
	dots = &chart.DotPlot{}
	for _, k := range c.Cases {
		if k.Experiment.Name != name || k.Params.Fleet != fleet {
			continue
		}
		series := CaseWords(strings.Replace(k.Label, "/fleet="+fleet, "", 1))
		for _, l := range of(k.Label, lines) {
			if l.Metric != metric || l.Scheduler == experiment.Default || l.Scheduler == experiment.Idle || !onLog(l.Mean) {
				continue
			}
			low, high := l.Low, l.High
			if !onLog(low) || !onLog(high) {
				low, high = l.Mean, l.Mean
			}
			dots.Add(l.Scheduler, series, l.Mean, low, high)
			differ = differ || l.Mean != 1 || low < 1
		}
	}
	return dots, differ
}

func onLog(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// names are the experiments of the cases, each once.
func (c Comparison) names() (names []string) {
	for _, k := range c.Cases {
		if !slices.Contains(names, k.Experiment.Name) {
			names = append(names, k.Experiment.Name)
		}
	}
	return names
}
