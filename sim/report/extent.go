package report

import "math"

// extent is a range of values.
type extent struct{ low, high float64 }

var nothing = extent{math.Inf(1), math.Inf(-1)}

func (e extent) with(v float64) extent { return extent{min(e.low, v), max(e.high, v)} }

// fixed is the range that the axis states, if it does.
func (a Axis) fixed() (extent, bool) { return extent{a.Min, a.Max}, a.Max > a.Min }

// fit is the axis's range for data: logarithmic ones get a margin, others begin
// at 0 if that is near enough.
func (a Axis) fit(e extent, near float64) extent {
	switch {
	case a.Log && e.high < e.low:
		return extent{1, 10} // it has no 0
	case a.Log:
		return extent{e.low / 1.1, e.high * 1.1}
	case e.high < e.low:
		return extent{0, 1}
	case e.high == e.low:
		e = extent{e.low - .5, e.high + .5}
	}
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
			e = p.data(e, true)
		}
	}
	return a.fit(e, .1)
}

func (p Panel) rangeY() extent {
	if e, ok := p.Y.fixed(); ok {
		return e
	}
	e := p.Y.fit(p.data(nothing, false), .5)
	if !p.Y.Log {
		e.high += .05 * (e.high - e.low)
	}
	return e
}

// data widens e by what the panel has along X, or along Y.
func (p Panel) data(e extent, alongX bool) extent {
	for _, s := range p.Series {
		for _, point := range s.Points {
			if alongX {
				e = e.with(point.X)
			} else {
				e = e.with(point.Y)
			}
			if point.bounded() && (s.Style == across) == alongX {
				e = e.with(point.Low).with(point.High)
			}
		}
	}
	return e
}
