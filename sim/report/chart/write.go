package chart

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// Sizes of a chart.
const (
	width      = 28 * vg.Centimeter
	margin     = .4 * vg.Centimeter
	gap        = .35 * vg.Centimeter // between panels, and to the legend
	resolution = 110                 // dots an inch
)

// CheckFile says whether WriteFile takes the path; the error is a
// *field.Error.
func CheckFile(path string) error {
	if extension := filepath.Ext(path); extension != ".png" && extension != ".svg" {
		return report.Refuse("path", path, "a file ending in .png or .svg")
	}
	return nil
}

// WriteFile draws into a file, by its ending .png or .svg.
func (c Chart) WriteFile(path string) error {
	if err := CheckFile(path); err != nil {
		return err
	}
	write := c.WritePNG
	if filepath.Ext(path) == ".svg" {
		write = c.WriteSVG
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// WritePNG draws as PNG. The error is w's, or that of Validate.
func (c Chart) WritePNG(w io.Writer) error {
	l, err := c.layout()
	if err != nil {
		return err
	}
	canvas := vgimg.NewWith(vgimg.UseWH(width, l.height), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	l.draw(draw.New(canvas))
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// WriteSVG draws as SVG. The error is w's, or that of Validate.
func (c Chart) WriteSVG(w io.Writer) error {
	l, err := c.layout()
	if err != nil {
		return err
	}
	canvas := vgsvg.New(width, l.height)
	l.draw(draw.New(canvas))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	_, err = w.Write(fitted(bytes.ReplaceAll(svg.Bytes(), []byte(measured), []byte(measured+alike))))
	return err
}

// The font that labels are measured in, and those as wide, which most machines have one
// of: another is squeezed.
const (
	measured = "font-family:Liberation Serif"
	alike    = ",Tinos,Times New Roman,Nimbus Roman,Times,serif"
)

// label is a text of the picture: its size in points, and what it says.
var label = regexp.MustCompile(`<text ([^>]*font-size:([0-9.]+)px"[^>]*)>([^<]+)</text>`)

// fitted has each label take as much room as was left for it, whatever font the viewer has: in
// a wider one labels would run over each other, and legends out of the picture.
func fitted(svg []byte) []byte {
	return label.ReplaceAllFunc(svg, func(text []byte) []byte {
		parts := label.FindSubmatch(text)
		size, err := strconv.ParseFloat(string(parts[2]), 64)
		if err != nil {
			return text
		}
		style := labelStyle(size)
		wide := style.Width(html.UnescapeString(string(parts[3]))).Points()
		return fmt.Appendf(nil, `<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, wide, parts[1], parts[3])
	})
}

// layout is the panels with their places.
type layout struct {
	panels      []*built
	legendWidth vg.Length
	height      vg.Length
}

func (c Chart) layout() (*layout, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	l := &layout{height: 2*margin + gap*vg.Length(len(c.Panels)-1)}
	inks, shades := palette{}, palette{}
	for i, p := range c.Panels {
		b, err := p.build(inks, shades, c.rangeX(p.X))
		if err != nil {
			return nil, fmt.Errorf("draw panel %d, %q: %w", i, p.Title, err)
		}
		l.panels = append(l.panels, b)
		l.legendWidth = max(l.legendWidth, b.legend.width())
	}
	l.shareAxes()
	for _, b := range l.panels {
		title := b.plot.Title
		b.plot.Title.Text = wrap(title.TextStyle, title.Text, .85*l.plotWidth())
		b.height += title.TextStyle.Height(b.plot.Title.Text) - title.TextStyle.Height("x")
		b.height = max(b.height, b.legend.height(l.legendWidth))
		l.height += b.height
	}
	return l, nil
}

func (l *layout) plotWidth() vg.Length {
	if l.legendWidth == 0 {
		return width - 2*margin
	}
	return width - 2*margin - gap - l.legendWidth
}

// shareAxes labels the axis of X of neighbours that have the same once, below
// the last.
func (l *layout) shareAxes() {
	for i := range len(l.panels) - 1 {
		upper, lower := &l.panels[i].plot.X, &l.panels[i+1].plot.X
		if upper.Label.Text == lower.Label.Text && upper.Min == lower.Min && upper.Max == lower.Max {
			upper.Label.Text = ""
			upper.Tick.Marker = unlabelled{upper.Tick.Marker}
		}
	}
}

// draw draws the panels one above the other, their data aligned, the legends to
// their right.
func (l *layout) draw(c draw.Canvas) {
	tiles := make([]draw.Canvas, len(l.panels))
	var left, right vg.Length // of the data within their tiles
	y := c.Max.Y - margin
	for i, b := range l.panels {
		tiles[i] = draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X + margin, Y: y - b.height},
			Max: vg.Point{X: c.Min.X + margin + l.plotWidth(), Y: y},
		}}
		y -= b.height + gap
		atLeft, atRight := around(b.plot, tiles[i])
		left, right = max(left, atLeft), max(right, atRight)
	}
	for i, b := range l.panels {
		atLeft, atRight := around(b.plot, tiles[i])
		b.plot.Draw(draw.Crop(tiles[i], left-atLeft, atRight-right, 0, 0))
		beside := tiles[i]
		beside.Min.X, beside.Max.X = tiles[i].Max.X+gap, c.Max.X-margin
		b.legend.draw(beside)
	}
}

// around is what stands to the left and to the right of a plot's data.
func around(p *plot.Plot, tile draw.Canvas) (left, right vg.Length) {
	data := p.DataCanvas(tile)
	return data.Min.X - tile.Min.X, tile.Max.X - data.Max.X
}

// FileName is a title as part of a file's name: without blanks, and without
// what would name another directory.
func FileName(title string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || strings.ContainsRune(`/\:`, r) {
			return '-'
		}
		return r
	}, title)
}
