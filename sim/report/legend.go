package report

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	words "github.com/spazio-scheduler/spazio/sim/report/text"
)

const (
	thumbnailWidth = .8 * vg.Centimeter
	thumbnailGap   = .15 * vg.Centimeter
	entryGap       = 3 // points
	legendWidest   = 6.4 * vg.Centimeter
	// spare is the share of a line that is left free, for a viewer whose font is
	// wider than the one measured.
	spare = .08
)

// labelFont is that of all labels, in a size in points.
func labelFont(size float64) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Points(size))
}

// labelStyle is that of labels of a size in points.
func labelStyle(size float64) text.Style {
	return text.Style{Font: labelFont(size), Handler: plot.DefaultTextHandler, YAlign: draw.YTop}
}

// legend is the parts of a panel that have names. It stands to the panel's right, an entry below the
// other.
type legend []part

// legendStyle is that of the names.
var legendStyle = labelStyle(9)

// width is what the entries need, on several lines if need be; 0 without any.
func (l legend) width() vg.Length {
	var widest vg.Length
	for _, e := range l {
		widest = max(widest, thumbnailWidth+thumbnailGap+(legendStyle.Width(e.name)+vg.Points(1))/(1-spare))
	}
	return min(widest, legendWidest)
}

// height is what the entries need at a width.
func (l legend) height(width vg.Length) (sum vg.Length) {
	for _, e := range l {
		sum += legendStyle.Height(wrapped(e.name, width)) + vg.Points(entryGap)
	}
	return sum
}

func wrapped(name string, width vg.Length) string {
	return wrap(legendStyle, name, (width-thumbnailWidth-thumbnailGap)*(1-spare))
}

// draw draws the entries from the top of c down.
func (l legend) draw(c draw.Canvas) {
	line, y := legendStyle.Height("x"), c.Max.Y
	for _, e := range l {
		e.icon(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X, Y: y - line},
			Max: vg.Point{X: c.Min.X + thumbnailWidth, Y: y},
		}})
		name := wrapped(e.name, c.Max.X-c.Min.X)
		c.FillText(legendStyle, vg.Point{X: c.Min.X + thumbnailWidth + thumbnailGap, Y: y}, name)
		y -= legendStyle.Height(name) + vg.Points(entryGap)
	}
}

// wrap breaks a text into lines no wider than width.
func wrap(style text.Style, s string, width vg.Length) string {
	return strings.Join(words.WrapBy(s, func(rest string) (fits int) {
		for end := range rest {
			if style.Width(rest[:end]) > width {
				return fits
			}
			fits = end
		}
		if style.Width(rest) <= width {
			fits = len(rest)
		}
		return fits
	}), "\n")
}
