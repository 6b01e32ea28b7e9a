package figures

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spazio-scheduler/spazio/report/drawing"
)

// palette gives each name of a figure its colour.
type palette map[string]color.NRGBA

func (p palette) of(name string) color.NRGBA {
	c, ok := p[name]
	if !ok {
		c = drawing.Colours[len(p)%len(drawing.Colours)]
		p[name] = c
	}
	return c
}

// pictures draws the panels as SVG and as PNG.
func (r Result) pictures() (svg, png []byte, err error) {
	var asSVG, asPNG bytes.Buffer
	panels, err := r.panels()
	if err != nil {
		return nil, nil, err
	}
	if err := drawing.WriteSVG(&asSVG, panels); err != nil {
		return nil, nil, err
	}
	if err := drawing.WritePNG(&asPNG, panels); err != nil {
		return nil, nil, err
	}
	return asSVG.Bytes(), asPNG.Bytes(), nil
}

func (r Result) panels() ([]drawing.Panel, error) {
	colours := palette{}
	var all []drawing.Panel
	for _, p := range r.Panels {
		d, err := p.draw(colours, r.rangeX(p.X))
		if err != nil {
			return nil, fmt.Errorf("draw %q: %w", p.Title, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// extent is a range of values.
type extent struct{ low, high float64 }

func (e extent) with(v float64) extent { return extent{min(e.low, v), max(e.high, v)} }

// rangeX is that of all panels with the same axis.
func (r Result) rangeX(a Axis) extent {
	if a.Max > a.Min {
		return extent{a.Min, a.Max}
	}
	e := extent{math.Inf(1), math.Inf(-1)}
	for _, p := range r.Panels {
		if p.X.Label != a.Label {
			continue
		}
		for _, s := range p.Series {
			for _, point := range s.Points {
				e = e.with(point.X)
			}
		}
	}
	if e.low > 0 && e.low < .1*e.high && !a.Log {
		e.low = 0
	}
	return e.orUnit()
}

func (p Panel) rangeY() extent {
	if p.Y.Max > p.Y.Min {
		return extent{p.Y.Min, p.Y.Max}
	}
	e := extent{math.Inf(1), math.Inf(-1)}
	for _, s := range p.Series {
		for _, point := range s.Points {
			if point.Low != 0 || point.High != 0 {
				e = e.with(point.Low).with(point.High)
			}
			if s.Style != Band {
				e = e.with(point.Y)
			}
		}
	}
	e = e.orUnit()
	if p.Y.Log {
		return extent{e.low / 1.1, e.high * 1.1}
	}
	if e.low > 0 && e.low < e.high/2 {
		e.low = 0
	}
	return extent{e.low, e.high + .05*(e.high-e.low)}
}

// orUnit widens an empty range.
func (e extent) orUnit() extent {
	switch {
	case e.high > e.low:
		return e
	case e.high == e.low:
		return extent{e.low - .5, e.high + .5}
	}
	return extent{0, 1}
}

func (p Panel) draw(colours palette, x extent) (drawing.Panel, error) {
	d := drawing.NewPanel(p.Title, p.Y.Label)
	d.Plot.X.Label.Text = p.X.Label
	y := p.rangeY()
	p.X.apply(&d.Plot.X, x)
	p.Y.apply(&d.Plot.Y, y)
	d.Grid()
	seen := map[string]bool{}
	for _, s := range p.Series {
		thumbnails, err := s.add(d.Plot, colours.of(s.Name))
		if err != nil {
			return d, fmt.Errorf("series %q: %w", s.Name, err)
		}
		if len(thumbnails) > 0 && !seen[s.Name] {
			d.Legend.Add(s.Name, thumbnails...)
		}
		seen[s.Name] = true
	}
	for _, m := range p.Marks {
		l := upright{m.X, colours.of(m.Name)}
		d.Plot.Add(l)
		if !seen[m.Name] {
			d.Legend.Add(m.Name, l)
		}
		seen[m.Name] = true
	}
	// Adding data widens the axes.
	d.Plot.X.Min, d.Plot.X.Max = x.low, x.high
	d.Plot.Y.Min, d.Plot.Y.Max = y.low, y.high
	return d, nil
}

func (a Axis) apply(axis *plot.Axis, e extent) {
	axis.Min, axis.Max = e.low, e.high
	switch {
	case len(a.Names) > 0:
		var ticks plot.ConstantTicks
		for i, name := range a.Names {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
		}
		axis.Tick.Marker = ticks
	case a.Log:
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, drawing.Decades{}
	case a.Whole:
		axis.Tick.Marker = drawing.Whole{}
	}
}

// add draws the series and returns what stands for it in the legend.
func (s Series) add(p *plot.Plot, c color.NRGBA) ([]plot.Thumbnailer, error) {
	if len(s.Points) == 0 {
		return nil, nil
	}
	if s.Style == Band {
		return s.band(p, c)
	}
	var thumbnails []plot.Thumbnailer
	if s.Style != Dots {
		l, err := plotter.NewLine(s.path())
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = c, vg.Points(1.4)
		switch s.Style {
		case Dashed:
			l.Width, l.Dashes = vg.Points(1), []vg.Length{vg.Points(4), vg.Points(3)}
		case Faint:
			c.A = 110
			l.Color, l.Width = c, vg.Points(.8)
		}
		p.Add(l)
		thumbnails = append(thumbnails, l)
	}
	if s.Style == Dots || s.Style == Dotted {
		dots, err := s.dots(p, c)
		if err != nil {
			return nil, err
		}
		thumbnails = append(thumbnails, dots)
	}
	return thumbnails, nil
}

// path is what a line goes along.
func (s Series) path() (xy plotter.XYs) {
	for i, point := range s.Points {
		if s.Style == Steps && i > 0 {
			xy = append(xy, plotter.XY{X: point.X, Y: s.Points[i-1].Y})
		}
		xy = append(xy, plotter.XY{X: point.X, Y: point.Y})
	}
	return xy
}

func (s Series) dots(p *plot.Plot, c color.NRGBA) (plot.Thumbnailer, error) {
	xy := make(plotter.XYs, len(s.Points))
	bars := make(plotter.YErrors, len(s.Points))
	any := false
	for i, point := range s.Points {
		xy[i] = plotter.XY{X: point.X, Y: point.Y}
		if point.Low != 0 || point.High != 0 {
			bars[i].Low, bars[i].High = point.Y-point.Low, point.High-point.Y
			any = true
		}
	}
	scatter, err := plotter.NewScatter(xy)
	if err != nil {
		return nil, err
	}
	scatter.Color, scatter.Shape, scatter.Radius = c, draw.CircleGlyph{}, vg.Points(2.2)
	p.Add(scatter)
	if !any {
		return scatter, nil
	}
	errors, err := plotter.NewYErrorBars(struct {
		plotter.XYs
		plotter.YErrors
	}{xy, bars})
	if err != nil {
		return nil, err
	}
	errors.Color = c
	p.Add(errors)
	return scatter, nil
}

func (s Series) band(p *plot.Plot, c color.NRGBA) ([]plot.Thumbnailer, error) {
	if len(s.Points) < 2 {
		return nil, nil
	}
	var outline plotter.XYs
	for _, point := range s.Points {
		outline = append(outline, plotter.XY{X: point.X, Y: point.High})
	}
	for i := len(s.Points) - 1; i >= 0; i-- {
		outline = append(outline, plotter.XY{X: s.Points[i].X, Y: s.Points[i].Low})
	}
	area, err := plotter.NewPolygon(outline)
	if err != nil {
		return nil, err
	}
	c.A = 60
	area.Color, area.Width = c, 0
	p.Add(area)
	return []plot.Thumbnailer{area}, nil
}

// upright is a vertical line over the whole height. It has no range of its own.
type upright struct {
	x     float64
	color color.NRGBA
}

// Plot implements plot.Plotter.
func (u upright) Plot(c draw.Canvas, p *plot.Plot) {
	transform, _ := p.Transforms(&c)
	if x := transform(u.x); x >= c.Min.X && x <= c.Max.X {
		c.StrokeLine2(u.style(), x, c.Min.Y, x, c.Max.Y)
	}
}

// Thumbnail implements plot.Thumbnailer.
func (u upright) Thumbnail(c *draw.Canvas) {
	x := (c.Min.X + c.Max.X) / 2
	c.StrokeLine2(u.style(), x, c.Min.Y, x, c.Max.Y)
}

func (u upright) style() draw.LineStyle {
	return draw.LineStyle{Color: u.color, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
}
