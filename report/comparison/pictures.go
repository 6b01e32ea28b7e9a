package comparison

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/report/chart"
	"github.com/spazio-scheduler/spazio/report/page"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// pictures draws the ratios to the default of an experiment's cases, one picture a
// judged metric in which any scheduler differs from the default, with a panel a fleet.
func (c Comparison) pictures(name, base string) ([]page.Picture, error) {
	lines := experiment.Ratios(c.Rows, experiment.Default)
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
