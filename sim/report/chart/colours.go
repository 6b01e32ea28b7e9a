package chart

import (
	"image/color"

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

// ink is what a series is drawn with.
type ink struct {
	colour color.NRGBA
	glyph  draw.GlyphDrawer
}

// palette gives each name of a chart its ink, in order of appearance.
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

func (p palette) shade(name string) color.NRGBA { return shades[p.index(name)%len(shades)] }
