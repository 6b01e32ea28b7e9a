package replay

import (
	"errors"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spazio-scheduler/spazio/report/drawing"
)

// timescale is the unit of the axis of time.
type timescale struct {
	label     string
	seconds   float64
	low, high float64
}

// scale fits the span drawn.
func (p *picture) scale() timescale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, t := range []trace{p.pods, p.avail[0], p.avail[1]} {
		if n := len(t.points); n > 0 {
			low, high = min(low, t.points[0].x), max(high, t.points[n-1].x)
		}
	}
	high = max(high, p.last)
	if !(high > low) {
		low, high = 0, max(high, 1)
	}
	s := timescale{"seconds", 1, low, high}
	switch span := high - low; {
	case span > 3*3600:
		s.label, s.seconds = "hours", 3600
	case span > 180:
		s.label, s.seconds = "minutes", 60
	}
	return s
}

// builder adds to one panel; the first error stays.
type builder struct {
	panel
	scale timescale
	err   error
}

// panel starts a panel with the gaps as its ground.
func (p *picture) panel(title, unit string, s timescale) *builder {
	b := &builder{panel: panel{title, drawing.NewPanel(title, unit)}, scale: s}
	b.Plot.X.Min, b.Plot.X.Max = s.low/s.seconds, s.high/s.seconds
	b.ground("records lost", p.gaps, lost)
	b.Grid()
	return b
}

// churn shades the churn windows.
func (b *builder) churn(windows []interval) { b.ground("churn window", windows, shade) }

// ground shades spans of time over the whole height.
func (b *builder) ground(name string, spans []interval, c color.Color) {
	if len(spans) == 0 {
		return
	}
	bars := ground{color: c, seconds: b.scale.seconds, spans: spans}
	b.Plot.Add(bars)
	b.Legend.Add(name, bars)
}

// ground is a plot.Plotter of shaded spans of time. It has no range of its own:
// it is behind whatever is drawn.
type ground struct {
	color   color.Color
	seconds float64
	spans   []interval
}

// Plot implements plot.Plotter.
func (g ground) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, s := range g.spans {
		from, to := max(x(s.from/g.seconds), c.Min.X), min(x(s.to/g.seconds), c.Max.X)
		if to > from {
			c.FillPolygon(g.color, []vg.Point{{X: from, Y: c.Min.Y}, {X: to, Y: c.Min.Y}, {X: to, Y: c.Max.Y}, {X: from, Y: c.Max.Y}})
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (g ground) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(g.color, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
}

// line draws a trace.
func (b *builder) line(name string, t trace, c color.Color, points float64) {
	b.addLine(name, b.points(t), c, points)
}

// points are those of a trace, up and down where values were merged.
func (b *builder) points(t trace) (xy plotter.XYs) {
	for _, s := range t.points {
		x := s.x / b.scale.seconds
		xy = append(xy, plotter.XY{X: x, Y: s.low})
		if s.high != s.low {
			xy = append(xy, plotter.XY{X: x, Y: s.high})
		}
	}
	return xy
}

// steps draws a count that holds until the next, the last one until the end.
func (b *builder) steps(name string, t trace, end float64, c color.Color) {
	var xy plotter.XYs
	for _, p := range b.points(t) {
		if n := len(xy); n > 0 {
			xy = append(xy, plotter.XY{X: p.X, Y: xy[n-1].Y})
		}
		xy = append(xy, p)
	}
	if n := len(xy); n > 0 {
		xy = append(xy, plotter.XY{X: max(end/b.scale.seconds, xy[n-1].X), Y: xy[n-1].Y})
	}
	b.addLine(name, xy, c, 1.3)
}

func (b *builder) addLine(name string, xy plotter.XYs, c color.Color, points float64) {
	if len(xy) == 0 {
		return
	}
	l, err := plotter.NewLine(xy)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	l.Color, l.Width = c, vg.Points(points)
	b.Plot.Add(l)
	b.Legend.Add(name, l)
}

// band fills what lies between the low and the high values of a trace.
func (b *builder) band(name string, t trace, c color.Color) {
	if len(t.points) < 2 {
		return
	}
	var outline plotter.XYs
	for _, s := range t.points {
		outline = append(outline, plotter.XY{X: s.x / b.scale.seconds, Y: s.high})
	}
	for i := len(t.points) - 1; i >= 0; i-- {
		outline = append(outline, plotter.XY{X: t.points[i].x / b.scale.seconds, Y: t.points[i].low})
	}
	area, err := plotter.NewPolygon(outline)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	area.Color, area.Width = c, 0
	b.Plot.Add(area)
	b.Legend.Add(name, area)
}

// level draws a thin line at a value that means something.
func (b *builder) level(y float64) {
	l, err := plotter.NewLine(plotter.XYs{{X: b.Plot.X.Min, Y: y}, {X: b.Plot.X.Max, Y: y}})
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	l.Width, l.Dashes = vg.Points(.6), []vg.Length{vg.Points(3), vg.Points(2)}
	b.Plot.Add(l)
}
