package chart

import "math"

// extent is a range of values.
type extent struct{ low, high float64 }

var nothing = extent{math.Inf(1), math.Inf(-1)}

func (e extent) with(v float64) extent { return extent{min(e.low, v), max(e.high, v)} }

// orUnit widens an empty range.
func (e extent) orUnit() extent {
	switch {
	case e.high > e.low:
		return e
	case e.high == e.low:
		return extent{e.low - .5, e.high + .5}
	}
	return extent{0, 1}
}

// fixed is the range that the axis states, if it does.
func (a Axis) fixed() (extent, bool) { return extent{a.Min, a.Max}, a.Max > a.Min }

// fit is the axis's range for data: logarithmic ones get a margin, others begin
// at 0 if that is near enough.
func (a Axis) fit(data extent, near float64) extent {
	switch {
	case a.Log && data.high >= data.low:
		return extent{data.low / 1.1, data.high * 1.1}
	case a.Log:
		return extent{1, 10} // has no 0 and no data
	}
	e := data.orUnit()
	if e.low > 0 && e.low < near*e.high {
		e.low = 0
	}
	return e
}

// rangeX is that of all panels with the same axis.
func (c Chart) rangeX(a Axis) extent {
	if e, ok := a.fixed(); ok {
		return e
	}
	e := nothing
	for _, p := range c.Panels {
		if p.X.Label == a.Label {
			e = p.dataX(e)
		}
	}
	return a.fit(e, .1)
}

func (p Panel) dataX(e extent) extent {
	for _, s := range p.Series {
		for _, point := range s.Points {
			e = e.with(point.X)
			if s.Style == Across && point.bounded() {
				e = e.with(point.Low).with(point.High)
			}
		}
	}
	return e
}

func (p Panel) dataY() extent {
	e := nothing
	for _, s := range p.Series {
		for _, point := range s.Points {
			if s.Style != Across && point.bounded() {
				e = e.with(point.Low).with(point.High)
			}
			if s.Style != Band {
				e = e.with(point.Y)
			}
		}
	}
	return e
}

func (p Panel) rangeY() extent {
	if e, ok := p.Y.fixed(); ok {
		return e
	}
	e := p.Y.fit(p.dataY(), .5)
	if !p.Y.Log {
		e.high += .05 * (e.high - e.low)
	}
	return e
}
