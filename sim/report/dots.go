package report

import "slices"

// DotPlot is a dot plot after Cleveland (1984): a row for each name, the first on
// top, in which the dots of the series stand one below the other. The zero value
// is empty. It is not safe for concurrent use while it is filled.
type DotPlot struct {
	rows   []string
	series []Series // Y is the row
}

// Add adds a dot to a row, with a bar from low to high where they differ. Rows and
// series keep the order in which they are first named.
func (d *DotPlot) Add(row, series string, value, low, high float64) {
	y, at := slices.Index(d.rows, row), slices.IndexFunc(d.series, func(s Series) bool { return s.Name == series })
	if y < 0 {
		y, d.rows = len(d.rows), append(d.rows, row)
	}
	if at < 0 {
		at, d.series = len(d.series), append(d.series, Series{Name: series, Style: across})
	}
	p := Point{X: value, Y: float64(y)}
	if low < high {
		p.Low, p.High = low, high
	}
	d.series[at].Points = append(d.series[at].Points, p)
}

// Range is the least and the largest value, bars included; 0 and 0 without any.
func (d *DotPlot) Range() (least, most float64) {
	e := Panel{Series: d.series}.data(nothing, true)
	if e.low > e.high {
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
	for i, s := range d.series {
		shift := rowShare * (.5 - (float64(i)+.5)/float64(len(d.series)))
		s.Points = slices.Clone(s.Points)
		for k := range s.Points {
			s.Points[k].Y = float64(len(names)-1) - s.Points[k].Y + shift
		}
		p.Series = append(p.Series, s)
	}
	return p
}
