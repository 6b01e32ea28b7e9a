package replay

import (
	"math"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// timescale is the unit of the axis of time, and what of time is drawn, in
// seconds.
type timescale struct {
	unit      string
	seconds   float64
	low, high float64
}

// scale fits the span drawn.
func (t *traces) scale() timescale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, of := range []trace{t.pods, t.avail[0], t.avail[1]} {
		if n := len(of.points); n > 0 {
			low, high = min(low, of.points[0].x), max(high, of.points[n-1].x)
		}
	}
	high = max(high, t.last)
	if !(high > low) {
		low, high = 0, max(high, 1)
	}
	s := timescale{"seconds", 1, low, high}
	switch span := high - low; {
	case span > 3*3600:
		s.unit, s.seconds = "hours", 3600
	case span > 180:
		s.unit, s.seconds = "minutes", 60
	}
	return s
}

func (s timescale) axis(t *traces) report.Axis {
	return report.Axis{
		Label: s.unit + " since " + t.start.UTC().Format("2006-01-02 15:04:05 UTC"),
		Min:   s.low / s.seconds, Max: s.high / s.seconds,
	}
}

// series draws a trace, up and down where values were merged; a band fills what lies between.
func (s timescale) series(name string, style report.Style, t trace) report.Series {
	out := report.Series{Name: name, Style: style}
	for _, p := range t.points {
		point := report.Point{X: p.x / s.seconds, Y: p.low}
		if style == report.Band {
			point.Low, point.High = p.low, p.high
		}
		out.Points = append(out.Points, point)
		if style != report.Band && p.high != p.low {
			out.Points = append(out.Points, report.Point{X: point.X, Y: p.high})
		}
	}
	return out
}

func (s timescale) spans(name string, all []interval) (spans []report.Span) {
	for _, i := range all {
		spans = append(spans, report.Span{Name: name, From: i.from / s.seconds, To: i.to / s.seconds})
	}
	return spans
}
