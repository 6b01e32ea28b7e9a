// Package drawing lays plots out: panels one above the other on one axis of X,
// each with its legend beside it, as PNG or SVG.
package drawing

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours that stay apart for the colour-blind (Okabe and Ito, 2008).
var (
	Blue   = color.NRGBA{0, 114, 178, 255}
	Orange = color.NRGBA{213, 94, 0, 255}
	Green  = color.NRGBA{0, 158, 115, 255}
	Purple = color.NRGBA{204, 121, 167, 255}
	Black  = color.NRGBA{0, 0, 0, 255}
	Sky    = color.NRGBA{86, 180, 233, 255}
	Amber  = color.NRGBA{230, 159, 0, 255}
	Grey   = color.NRGBA{150, 150, 150, 255}
)

// Colours are those of series, in order.
var Colours = []color.NRGBA{Blue, Orange, Green, Purple, Black, Sky, Amber}

// Sizes of a picture.
const (
	width       = 28 * vg.Centimeter
	panelHeight = 4.4 * vg.Centimeter
	legendWidth = 4.6 * vg.Centimeter
	margin      = .4 * vg.Centimeter
	resolution  = 110 // dots an inch
)

// Panel is one plot of a picture with its legend, which stands beside it.
type Panel struct {
	Plot   *plot.Plot
	Legend plot.Legend
}

// NewPanel returns a panel without data.
func NewPanel(title, unit string) Panel {
	p := Panel{Plot: plot.New(), Legend: plot.NewLegend()}
	p.Plot.Title.Text = title
	p.Plot.Title.TextStyle.Font.Size = vg.Points(11)
	p.Plot.Y.Label.Text = unit
	p.Plot.Y.Label.TextStyle.Font.Size = vg.Points(10)
	p.Plot.X.Label.TextStyle.Font.Size = vg.Points(10)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.ThumbnailWidth = .8 * vg.Centimeter
	p.Legend.TextStyle.Font.Size = vg.Points(9)
	p.Legend.Padding = vg.Points(3)
	return p
}

// Grid adds the grid, above what was added before.
func (p Panel) Grid() {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	p.Plot.Add(grid)
}

// WriteFile draws the panels into one file, by its ending .png or .svg.
func WriteFile(path string, panels []Panel) error {
	write := WritePNG
	switch extension := filepath.Ext(path); extension {
	case ".png":
	case ".svg":
		write = WriteSVG
	default:
		return fmt.Errorf("draw %s: neither .png nor .svg", path)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file, panels), file.Close())
}

// WritePNG draws the panels as PNG.
func WritePNG(w io.Writer, panels []Panel) error {
	c := vgimg.NewWith(vgimg.UseWH(width, height(panels)), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	stack(draw.New(c), panels)
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// WriteSVG draws the panels as SVG.
func WriteSVG(w io.Writer, panels []Panel) error {
	c := vgsvg.New(width, height(panels))
	stack(draw.New(c), panels)
	_, err := c.WriteTo(w)
	return err
}

func height(panels []Panel) vg.Length { return panelHeight*vg.Length(len(panels)) + vg.Centimeter }

// stack draws the panels one above the other, the legends to their right. The
// axis of X of neighbours that have the same is drawn once, below the last.
func stack(c draw.Canvas, panels []Panel) {
	left := draw.Crop(c, margin, -legendWidth, margin, -margin)
	grid := make([][]*plot.Plot, len(panels))
	for i := range panels {
		grid[i] = []*plot.Plot{panels[i].Plot}
		if i < len(panels)-1 && sameX(panels[i].Plot, panels[i+1].Plot) {
			panels[i].Plot.X.Label.Text = ""
			panels[i].Plot.X.Tick.Marker = unlabelled{panels[i].Plot.X.Tick.Marker}
		}
	}
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadY: .35 * vg.Centimeter}
	for i, row := range plot.Align(grid, tiles, left) {
		panels[i].Plot.Draw(row[0])
		beside := row[0]
		beside.Min.X, beside.Max.X = left.Max.X+.3*vg.Centimeter, c.Max.X-margin
		panels[i].Legend.Draw(beside)
	}
}

func sameX(a, b *plot.Plot) bool {
	return a.X.Label.Text == b.X.Label.Text && a.X.Min == b.X.Min && a.X.Max == b.X.Max
}
