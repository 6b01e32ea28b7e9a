package replay

import (
	"github.com/spazio-scheduler/spazio/sim/report"
)

// Save draws the channels, the pods, the signal and the estimates over time into a file ending in .svg
// or .png. Without Options.Draw it is refused with a *field.Error.
func (r Result) Save(path string) error {
	if r.traces == nil {
		return report.Refuse("Draw", false, "set to draw a replay")
	}
	return report.Chart{Panels: r.traces.panels()}.WriteFile(path)
}

// panels are one above the other on the same axis of time.
func (t *traces) panels() (all []report.Panel) {
	s := t.scale()
	add := func(title string, y report.Axis, spans []report.Span, series ...report.Series) {
		all = append(all, report.Panel{Title: title, X: s.axis(t), Y: y, Spans: spans, Series: series})
	}
	gaps := s.spans("records lost", t.gaps)
	grounds := append(s.spans("churn window", t.churn.windows), gaps...)
	for _, c := range t.channels {
		add(c.name+" usage", report.Axis{Label: "share of " + c.name, Min: 0, Max: 1}, grounds,
			s.series("as sampled", report.Faint, c.raw), s.series("filtered", report.Line, c.filtered))
	}
	pods := s.series("n, pods that run", report.Steps, t.pods)
	if n := len(pods.Points); n > 0 { // the last count holds until the end
		last := pods.Points[n-1]
		pods.Points = append(pods.Points, report.Point{X: max(last.X, t.last/s.seconds), Y: last.Y})
	}
	add("pods", report.Axis{Label: "pods", Whole: true, Min: 0, Max: max(1, 1.1*t.pods.top(0))}, grounds, pods)
	// What was recorded is held against what was replayed, over a line at 0.
	name := "replayed"
	if t.rerun {
		name = "with the options set"
	}
	zero := report.Series{Style: report.Dashed, Points: []report.Point{{X: s.low / s.seconds}, {X: s.high / s.seconds}}}
	add("avail", report.Axis{Label: "pods"}, gaps, zero, s.series("recorded", report.Broad, t.avail[0]), s.series(name, report.Line, t.avail[1]))
	add("signal k", report.Axis{Label: "typical loads"}, gaps, zero, s.series("recorded", report.Broad, t.k[0]), s.series(name, report.Line, t.k[1]))
	for _, c := range t.channels {
		add(c.name+" capacity", report.Axis{Label: "share of " + c.name, Min: 0, Max: c.capacity.top(1)}, gaps,
			s.series("C, free at no pods", report.Line, c.capacity))
		add(c.name+" cost of a pod", report.Axis{Label: "share of " + c.name, Min: 0, Max: 1.1 * c.band.top(0)}, gaps,
			s.series("c ± sd(c)", report.Band, c.band), s.series("c, cost of a pod", report.Line, c.cost))
	}
	return all
}
