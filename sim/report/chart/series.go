package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// plotters are what draws the series and what stands for it in the legend.
func (s Series) plotters(with ink) (plotters []plot.Plotter, thumbs []plot.Thumbnailer, err error) {
	switch {
	case len(s.Points) == 0:
		return nil, nil, nil
	case s.Style == Band:
		return s.band(with.colour)
	case s.Style == Dots || s.Style == Across:
		return s.dots(with)
	}
	line, err := plotter.NewLine(s.path())
	if err != nil {
		return nil, nil, err
	}
	line.LineStyle = s.Style.stroke(with.colour)
	plotters, thumbs = []plot.Plotter{line}, []plot.Thumbnailer{line}
	if s.Style == Dotted {
		dots, thumb, err := s.dots(with)
		if err != nil {
			return nil, nil, err
		}
		plotters, thumbs = append(plotters, dots...), append(thumbs, thumb...)
	}
	return plotters, thumbs, nil
}

func (s Style) stroke(c color.NRGBA) draw.LineStyle {
	stroke := draw.LineStyle{Color: c, Width: vg.Points(1.4)}
	switch s {
	case Dashed:
		stroke.Width, stroke.Dashes = vg.Points(1), []vg.Length{vg.Points(4), vg.Points(3)}
	case Faint:
		c.A = 110
		stroke.Color, stroke.Width = c, vg.Points(.8)
	case Broad:
		c.A = 110
		stroke.Color, stroke.Width = c, vg.Points(3.2)
	}
	return stroke
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

// dots draws the points, and a bar through each that has bounds.
func (s Series) dots(with ink) (plotters []plot.Plotter, thumbs []plot.Thumbnailer, err error) {
	stroke := draw.LineStyle{Color: with.colour, Width: vg.Points(1)}
	xy := make(plotter.XYs, len(s.Points))
	for i, point := range s.Points {
		xy[i] = plotter.XY{X: point.X, Y: point.Y}
		if !point.bounded() {
			continue
		}
		from, to := plotter.XY{X: point.X, Y: point.Low}, plotter.XY{X: point.X, Y: point.High}
		if s.Style == Across {
			from, to = plotter.XY{X: point.Low, Y: point.Y}, plotter.XY{X: point.High, Y: point.Y}
		}
		bar, err := plotter.NewLine(plotter.XYs{from, to})
		if err != nil {
			return nil, nil, err
		}
		bar.LineStyle = stroke
		plotters = append(plotters, bar)
	}
	scatter, err := plotter.NewScatter(xy)
	if err != nil {
		return nil, nil, err
	}
	scatter.GlyphStyle = draw.GlyphStyle{Color: with.colour, Shape: with.glyph, Radius: vg.Points(2.3)}
	return append(plotters, scatter), []plot.Thumbnailer{scatter}, nil
}

func (s Series) band(c color.NRGBA) ([]plot.Plotter, []plot.Thumbnailer, error) {
	if len(s.Points) < 2 {
		return nil, nil, nil
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
		return nil, nil, err
	}
	c.A = 60
	area.Color, area.Width = c, 0
	return []plot.Plotter{area}, []plot.Thumbnailer{area}, nil
}
