package comparison

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/spazio-scheduler/spazio/profile/replay"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// predictions are those of one preset. It is a plain value, safe for concurrent reading.
type predictions []predicted

// predicted is a series with what was predicted of it.
type predicted struct {
	replay.Series
	made []replay.Prediction
}

// Predict predicts each series by Options.Own, or else the default preset, and where a
// resource has several also the largest of them.
func Predict(series []replay.Series, o replay.Options) (all predictions, err error) {
	for _, resource := range []replay.Resource{replay.CPU, replay.Memory} {
		of := slices.DeleteFunc(slices.Clone(series), func(s replay.Series) bool { return s.Resource != resource })
		if len(of) > 1 {
			of = append(of, largestOf(of))
		}
		for _, s := range of {
			made, err := replay.Predictions(s, o)
			if err != nil {
				return nil, err
			}
			all = append(all, predicted{s, made})
		}
	}
	return all, nil
}

// apart is the time between two values of the largest of several series: a common interval of
// monitoring systems, within which replicas are sampled at moments of their own.
const apart = 5 * time.Minute

// largestOf returns the largest value of all series in each interval.
func largestOf(series []replay.Series) replay.Series {
	most := map[time.Time]float64{}
	for _, s := range series {
		for i, at := range s.Times {
			at = at.UTC().Truncate(apart)
			most[at] = max(most[at], s.Values[i])
		}
	}
	all := replay.Series{Name: "largest of all", Resource: series[0].Resource, Times: slices.SortedFunc(maps.Keys(most), time.Time.Compare)}
	for _, at := range all.Times {
		all.Values = append(all.Values, most[at])
	}
	return all
}

// units of what is printed: millicores and MB.
func (p predicted) unit() (name string, size float64) {
	if p.Resource == replay.CPU {
		return "millicores", 1e-3
	}
	return "MB", 1e6
}

// leastUsed is the sum of the means, in its unit, below which a series took nothing: a ratio to
// it says nothing.
const leastUsed = 1e-6

// Table has a row a series: how often its predictions held, how far they were above the mean
// of their windows, as a share of it and in its unit, and what it would request in the end, with limits of twice that.
func (p predictions) Table() text.Table {
	t := text.Table{
		Title:  "Each series: what its predictions were above the mean of the window, and what they end with",
		Header: []string{"resource", "series", "quality", "overhead", "above: mean", "p95", "p98", "p99", "requests", "limits", "unit"},
		Right:  []bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true},
	}
	for _, s := range p {
		if len(s.made) == 0 {
			continue
		}
		unit, size := s.unit()
		above, held, used := make([]float64, len(s.made)), 0., 0.
		for i, m := range s.made {
			above[i] = (m.Predicted - m.Mean) / size
			used += m.Mean / size
			if m.Held() {
				held++
			}
		}
		overhead := math.NaN()
		if used > leastUsed {
			overhead = floats.Sum(above) / used
		}
		slices.Sort(above)
		row := []string{s.Resource.String(), s.Name, decimal(held/float64(len(above)), 4), decimal(overhead, 4), decimal(stat.Mean(above, nil), 1)}
		for _, share := range []float64{.95, .98, .99} {
			row = append(row, decimal(stat.Quantile(share, stat.Empirical, above, nil), 1))
		}
		request := s.made[len(s.made)-1].Predicted / size
		t.Add(append(row, decimal(request, 1), decimal(2*request, 1), unit)...)
	}
	return t
}

// Save writes every prediction into a file ending in .csv, or draws them over the usage into
// one ending in .png or .svg.
func (p predictions) Save(path string) error {
	if filepath.Ext(path) != ".csv" {
		return p.chart().WriteFile(path)
	}
	t := text.Table{Header: []string{"resource", "series", "timestamp", "usage", "prediction", "window_mean", "window_largest", "held"}}
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, s := range p {
		for _, m := range s.made {
			t.Add(s.Resource.String(), s.Name, m.At.UTC().Format(time.RFC3339), exact(m.Usage), exact(m.Predicted), exact(m.Mean), exact(m.Largest), strconv.FormatBool(m.Held()))
		}
	}
	return t.SaveCSV(path)
}

// chart has of each resource the usage of all series, and the largest with its predictions.
func (p predictions) chart() (c report.Chart) {
	for _, resource := range []replay.Resource{replay.Memory, replay.CPU} {
		of := slices.DeleteFunc(slices.Clone(p), func(s predicted) bool { return s.Resource != resource || len(s.Times) == 0 })
		if len(of) > 0 {
			c.Panels = append(c.Panels, of.panels()...)
		}
	}
	return c
}

// panels are those of one resource, whose last series is the largest.
func (p predictions) panels() []report.Panel {
	unit, size := p[0].unit()
	first := slices.MinFunc(p, func(a, b predicted) int { return a.Times[0].Compare(b.Times[0]) }).Times[0]
	at := func(t time.Time, v float64) report.Point {
		return report.Point{X: t.Sub(first).Hours() / 24, Y: v / size}
	}
	usage := func(s predicted, style report.Style) []report.Series {
		var used []report.Point
		for i, t := range s.Times {
			used = append(used, at(t, s.Values[i]))
		}
		return lines(s.Name, style, used)
	}
	panel := report.Panel{X: report.Axis{Label: "days"}, Y: report.Axis{Label: unit}, Tall: true}
	each, largest := panel, panel
	each.Title = p[0].Resource.String() + ": usage of each series"
	largest.Title = p[0].Resource.String() + ": the largest usage and its prediction"
	for i, s := range p[:max(len(p)-1, 1)] {
		style := report.Line
		if i >= report.Colours() { // it has another's colour
			style = report.Dashed
		}
		each.Series = append(each.Series, usage(s, style)...)
	}
	last, expected := p[len(p)-1], []report.Point(nil)
	for _, m := range last.made {
		expected = append(expected, at(m.At, m.Predicted))
	}
	largest.Series = append(usage(last, report.Line), lines("prediction", report.Steps, expected)...)
	return []report.Panel{each, largest}
}

// lines joins points, but not over more than three times their usual interval, and than an hour, without.
func lines(name string, style report.Style, points []report.Point) (all []report.Series) {
	var gaps []float64
	for i := 1; i < len(points); i++ {
		gaps = append(gaps, points[i].X-points[i-1].X)
	}
	slices.Sort(gaps)
	hole := 1. / 24
	if len(gaps) > 0 {
		hole = max(hole, 3*gaps[len(gaps)/2])
	}
	for i, p := range points {
		if i == 0 || p.X-points[i-1].X > hole {
			all = append(all, report.Series{Name: name, Style: style})
		}
		last := &all[len(all)-1]
		last.Points = append(last.Points, p)
	}
	return all
}
