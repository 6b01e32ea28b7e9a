package chart

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

const (
	panelHeight = 4.4 * vg.Centimeter
	// A panel with names on Y: what is above and below the rows, a row, and each
	// series in it.
	rowsAround = 1.9 * vg.Centimeter
	rowHeight  = .55 * vg.Centimeter
	dotHeight  = .24 * vg.Centimeter
)

// built is a panel ready to be drawn.
type built struct {
	plot   *plot.Plot
	legend legend
	height vg.Length // that the data need
}

// build makes the plot; p has been validated.
func (p Panel) build(inks, shades palette, x extent) (*built, error) {
	b := &built{plot: plot.New(), legend: newLegend(), height: p.height()}
	b.plot.Title.Text = p.Title
	b.plot.Title.TextStyle.Font.Size = vg.Points(11)
	p.X.apply(&b.plot.X)
	p.Y.apply(&b.plot.Y)
	b.addSpans(p.Spans, shades)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	b.plot.Add(grid)
	for i, s := range p.Series {
		plotters, thumbs, err := s.plotters(inks.ink(s.Name))
		if err != nil {
			return nil, fmt.Errorf("series %d, %q: %w", i, s.Name, err)
		}
		b.plot.Add(plotters...)
		b.legend.add(s.Name, thumbs...)
	}
	for _, m := range p.Marks {
		line := upright{m.X, grey}
		if m.Name != "" {
			line.colour = inks.ink(m.Name).colour
		}
		b.plot.Add(line)
		b.legend.add(m.Name, line)
	}
	// Adding data widens the axes.
	y := p.rangeY()
	b.plot.X.Min, b.plot.X.Max = x.low, x.high
	b.plot.Y.Min, b.plot.Y.Max = y.low, y.high
	return b, nil
}

// addSpans draws the spans of each name at once.
func (b *built) addSpans(spans []Span, inks palette) {
	byName := map[string][]Span{}
	var order []string
	for _, s := range spans {
		if byName[s.Name] == nil {
			order = append(order, s.Name)
		}
		byName[s.Name] = append(byName[s.Name], s)
	}
	for _, name := range order {
		area := shading{inks.shade(name), byName[name]}
		b.plot.Add(area)
		b.legend.add(name, area)
	}
}

func (a Axis) apply(axis *plot.Axis) {
	axis.Label.Text = a.Label
	axis.Label.TextStyle.Font.Size = vg.Points(10)
	if a.Log {
		axis.Scale = plot.LogScale{}
	}
	if marker := a.marker(); marker != nil {
		axis.Tick.Marker = marker
	}
}

func (p Panel) height() vg.Length {
	row := max(rowHeight, dotHeight*vg.Length(len(p.Series)))
	least := panelHeight
	if p.Tall {
		least *= 2
	}
	return max(least, rowsAround+row*vg.Length(len(p.Y.Names)))
}
