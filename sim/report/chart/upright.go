package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// upright is a vertical line over the whole height. It has no range of its own.
type upright struct {
	x      float64
	colour color.Color
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
	return draw.LineStyle{Color: u.colour, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
}

// shading is spans of X over the whole height. It has no range of its own.
type shading struct {
	colour color.Color
	spans  []Span
}

// Plot implements plot.Plotter.
func (s shading) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, span := range s.spans {
		from, to := max(x(span.From), c.Min.X), min(x(span.To), c.Max.X)
		if to > from {
			s.fill(c, vg.Rectangle{Min: vg.Point{X: from, Y: c.Min.Y}, Max: vg.Point{X: to, Y: c.Max.Y}})
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (s shading) Thumbnail(c *draw.Canvas) { s.fill(*c, c.Rectangle) }

func (s shading) fill(c draw.Canvas, r vg.Rectangle) {
	c.FillPolygon(s.colour, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}
