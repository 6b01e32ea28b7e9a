package report

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of a chart.
const (
	width       = 28 * vg.Centimeter
	margin      = .4 * vg.Centimeter
	gap         = .35 * vg.Centimeter // between panels, and to the legend
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
	height vg.Length
}

// add adds a part, which the legend has unless there is one of the name.
func (b *built) add(name string, with ink, of shape) {
	q := part{name, with, of}
	b.plot.Add(q)
	if name != "" && !slices.ContainsFunc(b.legend, func(e part) bool { return e.name == name }) {
		b.legend = append(b.legend, q)
	}
}

// build makes the plot; p has been validated.
func (p Panel) build(inks, shaded palette, x extent) *built {
	b := &built{plot: plot.New(), height: p.height()}
	b.plot.Title.Text, b.plot.Title.TextStyle.Font = p.Title, labelFont(11)
	p.X.apply(&b.plot.X, x)
	p.Y.apply(&b.plot.Y, p.rangeY())
	for _, s := range p.Spans {
		b.add(s.Name, ink{colour: shades[shaded.index(s.Name)%len(shades)]}, s)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	b.plot.Add(grid)
	for _, s := range p.Series {
		if with := inks.ink(s.Name); len(s.Points) > 0 {
			b.add(s.Name, with, s)
		}
	}
	for _, m := range p.Marks {
		with := ink{colour: grey}
		if m.Name != "" {
			with = inks.ink(m.Name)
		}
		b.add(m.Name, with, m)
	}
	return b
}

func (a Axis) apply(axis *plot.Axis, e extent) {
	axis.Min, axis.Max = e.low, e.high
	axis.Label.Text, axis.Label.TextStyle.Font = a.Label, labelFont(10)
	axis.Tick.Marker, axis.Tick.Label.Font = a.marker(), labelFont(10)
	if a.Log {
		axis.Scale = plot.LogScale{}
	}
}

// height is what the data need.
func (p Panel) height() vg.Length {
	row := max(rowHeight, dotHeight*vg.Length(len(p.Series)))
	least := panelHeight
	if p.Tall {
		least *= 2
	}
	return max(least, rowsAround+row*vg.Length(len(p.Y.Names)))
}

// layout is the panels with their places.
type layout struct {
	panels      []*built
	legendWidth vg.Length
	height      vg.Length
}

// layout is that of a chart that has been validated.
func (c Chart) layout() *layout {
	l := &layout{height: 2*margin + gap*vg.Length(len(c.Panels)-1)}
	inks, shaded := palette{}, palette{}
	for _, p := range c.Panels {
		b := p.build(inks, shaded, c.rangeX(p.X))
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
	return l
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
			upper.Label.Text, upper.Tick.Marker = "", unlabelled(upper.Tick.Marker)
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
