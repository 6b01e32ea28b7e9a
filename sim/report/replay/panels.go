package replay

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/chart"
)

// CheckTarget says whether Save takes the path; the error is a *field.Error.
func CheckTarget(path string) error {
	if chart.CheckFile(path) == nil {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return report.Refuse("path", path, "a directory or a file ending in .png or .svg")
	}
	return nil
}

// Save draws the channels, the pods, the signal and the estimates over time, into
// one file or, as a PNG each, into a directory, which it makes if need be. Without
// Options.Draw it is refused with a *field.Error.
func (r Result) Save(path string) error {
	if r.traces == nil {
		return report.Refuse("Draw", false, "set to draw a replay")
	}
	panels := r.traces.panels()
	if chart.CheckFile(path) == nil {
		return chart.Chart{Panels: panels}.WriteFile(path)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	for i, panel := range panels {
		name := fmt.Sprintf("%d-%s.png", i+1, chart.FileName(panel.Title))
		if err := (chart.Chart{Panels: []chart.Panel{panel}}).WriteFile(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// panels are one above the other on the same axis of time.
func (t *traces) panels() []chart.Panel {
	s := t.scale()
	gaps := s.spans("records lost", t.gaps)
	grounds := append(s.spans("churn window", t.churn.windows), gaps...)
	var all []chart.Panel
	for _, c := range t.channels {
		all = append(all, chart.Panel{
			Title: c.name + " usage", Y: chart.Axis{Label: "share of " + c.name, Min: 0, Max: 1}, Spans: grounds,
			Series: []chart.Series{s.series("as sampled", chart.Faint, c.raw), s.series("filtered", chart.Line, c.filtered)},
		})
	}
	pods := s.series("n, pods that run", chart.Steps, t.pods)
	if n := len(pods.Points); n > 0 { // the last count holds until the end
		last := pods.Points[n-1]
		pods.Points = append(pods.Points, chart.Point{X: max(last.X, t.last/s.seconds), Y: last.Y})
	}
	all = append(all, chart.Panel{
		Title: "pods", Y: chart.Axis{Label: "pods", Whole: true, Min: 0, Max: max(1, 1.1*t.pods.top(0))}, Spans: grounds,
		Series: []chart.Series{pods},
	})
	all = append(all, t.sides("avail", "pods", t.avail, s, gaps), t.sides("signal k", "typical loads", t.k, s, gaps))
	for _, c := range t.channels {
		all = append(all, chart.Panel{
			Title: c.name + " capacity", Y: chart.Axis{Label: "share of " + c.name, Min: 0, Max: c.capacity.top(1)}, Spans: gaps,
			Series: []chart.Series{s.series("C, free at no pods", chart.Line, c.capacity)},
		}, chart.Panel{
			Title: c.name + " cost of a pod", Y: chart.Axis{Label: "share of " + c.name, Min: 0, Max: 1.1 * c.band.top(0)}, Spans: gaps,
			Series: []chart.Series{s.band("c ± sd(c)", c.band), s.series("c, cost of a pod", chart.Line, c.cost)},
		})
	}
	for i := range all {
		all[i].X = s.axis(t)
	}
	return all
}

// sides holds what was recorded against what was replayed, over a line at 0.
func (t *traces) sides(title, unit string, sides [2]trace, s timescale, gaps []chart.Span) chart.Panel {
	name := "replayed"
	if t.rerun {
		name = "with the options set"
	}
	return chart.Panel{
		Title: title, Y: chart.Axis{Label: unit}, Spans: gaps,
		Series: []chart.Series{
			{Style: chart.Dashed, Points: []chart.Point{{X: s.low / s.seconds}, {X: s.high / s.seconds}}},
			s.series("recorded", chart.Broad, sides[0]), s.series(name, chart.Line, sides[1]),
		},
	}
}
