package chart

import (
	"math"
	"slices"
)

// DotPlot is a dot plot after Cleveland (1984): a row for each name, the first on
// top, in which the dots of the series stand one below the other. The zero value
// is empty. It is not safe for concurrent use while it is filled.
type DotPlot struct {
	rows   []string
	series []string
	points map[string][]Point // by series; Y is the row
}

// Add adds a dot to a row, with a bar from low to high where they differ. Rows and
// series keep the order in which they are first named.
func (d *DotPlot) Add(row, series string, value, low, high float64) {
	if !slices.Contains(d.rows, row) {
		d.rows = append(d.rows, row)
	}
	if !slices.Contains(d.series, series) {
		d.series = append(d.series, series)
	}
	if d.points == nil {
		d.points = map[string][]Point{}
	}
	p := Point{X: value, Y: float64(slices.Index(d.rows, row))}
	if low < high {
		p.Low, p.High = low, high
	}
	d.points[series] = append(d.points[series], p)
}

// Range is the least and the largest value, bars included; 0 and 0 without any.
func (d *DotPlot) Range() (least, most float64) {
	e := nothing
	for _, points := range d.points {
		for _, p := range points {
			e = e.with(p.X)
			if p.bounded() {
				e = e.with(p.Low).with(p.High)
			}
		}
	}
	if math.IsInf(e.low, 1) {
		return 0, 0
	}
	return e.low, e.high
}

// rowShare is what of a row's height its dots take.
const rowShare = .6

// Panel lays the rows out over the axis of values.
func (d *DotPlot) Panel(title string, values Axis) Panel {
	names := slices.Clone(d.rows)
	slices.Reverse(names)
	p := Panel{Title: title, X: values, Y: Axis{Names: names, Min: -.5, Max: float64(len(names)) - .5}}
	if len(names) == 0 {
		p.Y = Axis{}
	}
	for i, name := range d.series {
		shift := rowShare * (.5 - (float64(i)+.5)/float64(len(d.series)))
		points := slices.Clone(d.points[name])
		for k := range points {
			points[k].Y = float64(len(names)-1) - points[k].Y + shift
		}
		p.Series = append(p.Series, Series{Name: name, Style: Across, Points: points})
	}
	return p
}
