package chart

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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

// legend stands to the right of a panel, an entry below the other.
type legend struct {
	style   text.Style
	entries []entry
}

type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

func newLegend() legend {
	style := labelStyle(9)
	style.YAlign = draw.YTop
	return legend{style: style}
}

// labelStyle is that of labels of a size in points.
func labelStyle(size float64) text.Style {
	return text.Style{Font: font.From(plot.DefaultFont, vg.Length(size)), Handler: plot.DefaultTextHandler}
}

// add adds an entry, unless there is one of the name or it has none.
func (l *legend) add(name string, thumbs ...plot.Thumbnailer) {
	if name == "" || len(thumbs) == 0 {
		return
	}
	for _, e := range l.entries {
		if e.name == name {
			return
		}
	}
	l.entries = append(l.entries, entry{name, thumbs})
}

// width is what the entries need, on several lines if need be; 0 without any.
func (l *legend) width() vg.Length {
	var widest vg.Length
	for _, e := range l.entries {
		widest = max(widest, thumbnailWidth+thumbnailGap+(l.style.Width(e.name)+vg.Points(1))/(1-spare))
	}
	return min(widest, legendWidest)
}

// height is what the entries need at a width.
func (l *legend) height(width vg.Length) (sum vg.Length) {
	for _, e := range l.entries {
		sum += l.style.Height(l.wrapped(e, width)) + vg.Points(entryGap)
	}
	return sum
}

func (l *legend) wrapped(e entry, width vg.Length) string {
	return wrap(l.style, e.name, (width-thumbnailWidth-thumbnailGap)*(1-spare))
}

// draw draws the entries from the top of c down.
func (l *legend) draw(c draw.Canvas) {
	width, line := c.Max.X-c.Min.X, l.style.Height("x")
	y := c.Max.Y
	for _, e := range l.entries {
		name := l.wrapped(e, width)
		icon := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X, Y: y - line},
			Max: vg.Point{X: c.Min.X + thumbnailWidth, Y: y},
		}}
		for _, t := range e.thumbs {
			t.Thumbnail(&icon)
		}
		c.FillText(l.style, vg.Point{X: c.Min.X + thumbnailWidth + thumbnailGap, Y: y}, name)
		y -= l.style.Height(name) + vg.Points(entryGap)
	}
}

// wrap breaks a text at its blanks into lines no wider than width, and a word
// that is wider by itself within.
func wrap(style text.Style, s string, width vg.Length) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && style.Width(line+" "+word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for line = word; line != "" && style.Width(line) > width; {
			head := cut(style, line, width)
			lines, line = append(lines, line[:head]), line[head:]
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// cut is the length of the longest head of a word no wider than width, at least
// one letter's.
func cut(style text.Style, word string, width vg.Length) int {
	head := 0
	for i := range word {
		if head > 0 && style.Width(word[:i]) > width {
			break
		}
		head = i
	}
	if head == 0 {
		return len(word)
	}
	return head
}
