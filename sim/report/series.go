package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colours stay apart for the colour-blind (Okabe and Ito, 2008).
var colours = []color.NRGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{0, 0, 0, 255}, {86, 180, 233, 255}, {230, 159, 0, 255},
}

// Colours is how many series have a colour of their own.
func Colours() int { return len(colours) }

// shades are those of spans.
var shades = []color.NRGBA{{240, 228, 66, 110}, {213, 94, 0, 60}, {86, 180, 233, 70}}

var (
	grey = color.NRGBA{110, 110, 110, 255}
	pale = color.Gray{225}
)

// glyphs tell series apart beside their colours, and those beyond the last
// colour.
var glyphs = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{},
}

// ink is what something is drawn with.
type ink struct {
	colour color.NRGBA
	glyph  draw.GlyphDrawer
}

// palette gives each name of a chart a place among the inks, in order of appearance.
type palette map[string]int

func (p palette) index(name string) int {
	i, ok := p[name]
	if !ok {
		i = len(p)
		p[name] = i
	}
	return i
}

func (p palette) ink(name string) ink {
	i := p.index(name)
	return ink{colours[i%len(colours)], glyphs[(i+i/len(colours))%len(glyphs)]}
}

// pen draws on a canvas, at places of the data that x and y have.
type pen struct {
	*draw.Canvas
	ink
	x, y func(float64) vg.Length
}

func (p pen) at(x, y float64) vg.Point { return vg.Point{X: p.x(x), Y: p.y(y)} }

// shape is a series, a mark or a span. Its sample stands for it in the legend, where it is
// drawn over the unit square.
type shape interface {
	draw(p pen)
	sample() shape
}

// part is a shape of a panel with its ink and its name in the legend. As a plotter it has no
// range of its own.
type part struct {
	name string
	ink  ink
	shape
}

// Plot implements plot.Plotter.
func (q part) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	q.draw(pen{&c, q.ink, x, y})
}

// icon draws the part's sample all over a canvas.
func (q part) icon(c draw.Canvas) { q.sample().draw(pen{&c, q.ink, c.X, c.Y}) }

func (s Series) sample() shape {
	s.Points = []Point{{Y: .5}, {X: .5, Y: .5}, {X: 1, Y: .5}}
	if s.Style == Dots || s.Style == across {
		s.Points = []Point{{X: .5, Y: .5}}
	}
	return s
}

func (s Series) draw(p pen) {
	dots := s.Style == Dots || s.Style == across
	if !dots {
		p.StrokeLines(s.Style.stroke(p.colour), p.ClipLinesXY(s.path(p))...)
	}
	if !dots && s.Style != Dotted {
		return
	}
	for _, point := range s.Points {
		from, to := p.at(point.X, point.Y), p.at(point.X, point.Y)
		p.DrawGlyph(draw.GlyphStyle{Color: p.colour, Shape: p.glyph, Radius: vg.Points(2.3)}, from)
		switch {
		case !point.bounded():
			continue
		case s.Style == across:
			from.X, to.X = p.x(point.Low), p.x(point.High)
		default:
			from.Y, to.Y = p.y(point.Low), p.y(point.High)
		}
		p.StrokeLines(draw.LineStyle{Color: p.colour, Width: vg.Points(1)}, p.ClipLinesXY([]vg.Point{from, to})...)
	}
}

func (s Style) stroke(c color.NRGBA) draw.LineStyle {
	switch s {
	case Dashed:
		return draw.LineStyle{Color: c, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(4), vg.Points(3)}}
	case Faint:
		c.A = 110 // others are seen through it
		return draw.LineStyle{Color: c, Width: vg.Points(.8)}
	}
	return draw.LineStyle{Color: c, Width: vg.Points(1.4)}
}

// path is what a line goes along.
func (s Series) path(p pen) (path []vg.Point) {
	for i, point := range s.Points {
		if s.Style == Steps && i > 0 {
			path = append(path, p.at(point.X, s.Points[i-1].Y))
		}
		path = append(path, p.at(point.X, point.Y))
	}
	return path
}

func (m Mark) sample() shape { return Mark{X: .5} }

// draw draws a line over the whole height.
func (m Mark) draw(p pen) {
	if x := p.x(m.X); p.ContainsX(x) {
		p.StrokeLine2(draw.LineStyle{Color: p.colour, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}, x, p.Min.Y, x, p.Max.Y)
	}
}

func (s Span) sample() shape { return Span{To: 1} }

// draw shades the whole height.
func (s Span) draw(p pen) {
	if from, to := max(p.x(s.From), p.Min.X), min(p.x(s.To), p.Max.X); to > from {
		p.FillPolygon(p.colour, []vg.Point{{X: from, Y: p.Min.Y}, {X: to, Y: p.Min.Y}, {X: to, Y: p.Max.Y}, {X: from, Y: p.Max.Y}})
	}
}
