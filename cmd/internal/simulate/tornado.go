package simulate

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spazio-scheduler/spazio/report/drawing"
)

// picture is the plot as an SVG.
func (s sensitivity) picture() ([]byte, error) {
	p, err := s.plot()
	if err != nil {
		return nil, err
	}
	return toSVG(p, len(s.of)*2/3+len(s.scales))
}

// plot draws a tornado: a line of dots a constant and scale, the constant that
// moves most on top.
func (s sensitivity) plot() (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = color.White
	p.X.Label.Text = s.metric + ", ratio to that with the default"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, effectTicks{}
	p.Legend.Top, p.Legend.Left = true, false
	low, high := 1/(1+2*tolerance), 1+2*tolerance
	names := make([]string, len(s.of))
	for i, c := range s.of {
		names[len(names)-1-i] = c.Constant.Name
		for _, e := range c.Effects {
			low, high = math.Min(low, e.Mean), math.Max(high, e.Mean)
		}
	}
	for i, scale := range s.scales {
		if err := s.drawScale(p, i, scale); err != nil {
			return nil, err
		}
	}
	top := float64(len(s.of)) - .5
	for _, x := range []float64{1 - tolerance, 1, 1 + tolerance} {
		line, err := plotter.NewLine(plotter.XYs{{X: x, Y: -.5}, {X: x, Y: top}})
		if err != nil {
			return nil, err
		}
		if x != 1 {
			line.Dashes = []vg.Length{vg.Points(3), vg.Points(3)}
		}
		p.Add(line)
	}
	p.NominalY(names...)
	p.X.Min, p.X.Max = low/1.05, high*1.05
	p.Y.Min, p.Y.Max = -.5, top+float64(len(s.scales)) // the legend's room
	return p, nil
}

// drawScale draws the dots of one scale, and a bar from the least to the largest
// of each constant.
func (s sensitivity) drawScale(p *plot.Plot, i int, scale float64) error {
	shift := .4*(float64(i)+.5)/float64(len(s.scales)) - .2
	tint := drawing.Colours[i%len(drawing.Colours)]
	var dots plotter.XYs
	for k, c := range s.of {
		y := float64(len(s.of)-1-k) - shift
		var x []float64
		for _, e := range c.Effects {
			if e.Scale == scale && e.Mean > 0 && !math.IsInf(e.Mean, 1) {
				x = append(x, e.Mean)
				dots = append(dots, plotter.XY{X: e.Mean, Y: y})
			}
		}
		if len(x) == 0 {
			continue
		}
		bar, err := plotter.NewLine(plotter.XYs{{X: slices.Min(x), Y: y}, {X: slices.Max(x), Y: y}})
		if err != nil {
			return err
		}
		bar.Color, bar.Width = tint, vg.Points(1.5)
		p.Add(bar)
	}
	if len(dots) == 0 {
		return nil
	}
	scatter, err := plotter.NewScatter(dots)
	if err != nil {
		return err
	}
	scatter.Color, scatter.Shape, scatter.Radius = tint, draw.CircleGlyph{}, vg.Points(2)
	p.Add(scatter)
	p.Legend.Add(fmt.Sprintf("default × %g", scale), scatter)
	return nil
}

// effectTicks are close about 1.
type effectTicks struct{}

func (effectTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for _, v := range []float64{.1, .2, .3, .5, .7, .8, .9, 1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50} {
		if v >= low && v <= high {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%g", v)})
		}
	}
	return ticks
}
