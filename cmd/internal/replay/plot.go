package replay

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours that stay apart for the colour-blind (Okabe and Ito, 2008).
var (
	blue   = color.NRGBA{0, 114, 178, 255}
	orange = color.NRGBA{213, 94, 0, 255}
	green  = color.NRGBA{0, 158, 115, 255}
	purple = color.NRGBA{204, 121, 167, 255}
	pale   = color.NRGBA{120, 175, 215, 255}
	grey   = color.NRGBA{150, 150, 150, 255}
	shade  = color.NRGBA{240, 228, 66, 110}
	lost   = color.NRGBA{213, 94, 0, 60}
	mist   = color.NRGBA{204, 121, 167, 80}
)

// Sizes of the picture.
const (
	width       = 28 * vg.Centimeter
	panelHeight = 4.4 * vg.Centimeter
	legendWidth = 4.6 * vg.Centimeter
	margin      = .4 * vg.Centimeter
	resolution  = 110 // dots an inch
)

// checkTarget says whether path can be drawn to.
func checkTarget(path string) error {
	switch filepath.Ext(path) {
	case ".png", ".svg":
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is neither a directory nor a .png or .svg file", path)
	}
	return nil
}

// panel is one plot of the stack with its legend, which stands beside it.
type panel struct {
	name   string
	plot   *plot.Plot
	legend plot.Legend
}

// save draws all panels into one file, or each into one of a directory.
func (p *picture) save(path string) error {
	panels, err := p.panels()
	if err != nil {
		return err
	}
	switch filepath.Ext(path) {
	case ".png":
		return write(path, png(panels))
	case ".svg":
		c := vgsvg.New(width, height(panels))
		stack(draw.New(c), panels)
		return write(path, c)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	for i, panel := range panels {
		name := fmt.Sprintf("%d-%s.png", i+1, strings.Map(fileRune, panel.name))
		if err := write(filepath.Join(path, name), png(panels[i:i+1])); err != nil {
			return err
		}
	}
	return nil
}

// fileRune keeps a channel's name from naming another directory.
func fileRune(r rune) rune {
	if r == ' ' || strings.ContainsRune(`/\:`, r) {
		return '-'
	}
	return r
}

func height(panels []panel) vg.Length { return panelHeight*vg.Length(len(panels)) + vg.Centimeter }

func png(panels []panel) vg.CanvasWriterTo {
	c := vgimg.NewWith(vgimg.UseWH(width, height(panels)), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	stack(draw.New(c), panels)
	return vgimg.PngCanvas{Canvas: c}
}

func write(path string, c vg.CanvasWriterTo) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = c.WriteTo(file)
	return errors.Join(err, file.Close())
}

// stack draws the panels one above the other on one axis of time, the legends
// to their right.
func stack(c draw.Canvas, panels []panel) {
	left := draw.Crop(c, margin, -legendWidth, margin, -margin)
	grid := make([][]*plot.Plot, len(panels))
	for i := range panels {
		grid[i] = []*plot.Plot{panels[i].plot}
		if i < len(panels)-1 { // one axis of time below them all
			panels[i].plot.X.Label.Text = ""
			panels[i].plot.X.Tick.Marker = unlabelled{panels[i].plot.X.Tick.Marker}
		}
	}
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadY: .35 * vg.Centimeter}
	for i, row := range plot.Align(grid, tiles, left) {
		panels[i].plot.Draw(row[0])
		beside := row[0]
		beside.Min.X, beside.Max.X = left.Max.X+.3*vg.Centimeter, c.Max.X-margin
		panels[i].legend.Draw(beside)
	}
}

// panels makes the plots.
func (p *picture) panels() ([]panel, error) {
	var list []panel
	var failed error
	keep := func(b *builder) {
		list = append(list, b.panel)
		failed = errors.Join(failed, b.err)
	}
	scale := p.scale()
	for _, c := range p.channels {
		b := p.panel(c.name+" usage", "share of "+c.name, scale)
		b.churn(p.churn.windows)
		b.line("as sampled", c.raw, pale, .6)
		b.line("filtered", c.filtered, blue, 1.3)
		b.plot.Y.Min, b.plot.Y.Max = 0, 1
		keep(b)
	}
	b := p.panel("pods", "pods", scale)
	b.churn(p.churn.windows)
	b.plot.Y.Tick.Marker = whole{}
	b.steps("n, pods that run", p.pods, p.last, green)
	b.plot.Y.Min, b.plot.Y.Max = 0, math.Max(b.plot.Y.Max*1.1, 1)
	keep(b)
	for _, s := range []struct {
		name, unit string
		sides      [2]trace
	}{{"avail", "pods", p.avail}, {"signal k", "typical loads", p.k}} {
		b := p.panel(s.name, s.unit, scale)
		b.line("recorded", s.sides[0], grey, 2.4)
		name := "replayed"
		if p.rerun {
			name = "with the options set"
		}
		b.line(name, s.sides[1], orange, 1.1)
		b.level(0)
		b.plot.Y.Max *= 1.1
		keep(b)
	}
	for _, c := range p.channels {
		b := p.panel(c.name+" capacity", "share of "+c.name, scale)
		b.line("C, free at no pods", c.capacity, green, 1.3)
		b.plot.Y.Min, b.plot.Y.Max = 0, math.Max(b.plot.Y.Max, 1)
		keep(b)
		b = p.panel(c.name+" cost of a pod", "share of "+c.name, scale)
		b.band("c ± sd(c)", c.band, mist)
		b.line("c, cost of a pod", c.cost, purple, 1.3)
		b.plot.Y.Min = 0
		b.plot.Y.Max *= 1.1
		keep(b)
	}
	for _, panel := range list {
		panel.plot.X.Label.Text = scale.label + " since " + p.start.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return list, failed
}
