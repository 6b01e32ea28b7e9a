package report

import (
	"fmt"
	"math"
)

// validate returns a *field.Error that names the first value that can't be
// drawn: one that is not finite, or not above 0 on a logarithmic axis.
func (c Chart) validate() error {
	if len(c.Panels) == 0 {
		return Refuse("Panels", 0, "at least one")
	}
	for i, p := range c.Panels {
		if err := p.validate(fmt.Sprintf("Panels[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (p Panel) validate(path string) (err error) {
	check := func(a Axis, name string, values ...float64) {
		for _, v := range values {
			if err == nil && !a.drawable(v) {
				err = Refuse(path+name, v, a.want())
			}
		}
	}
	for i, a := range []Axis{p.X, p.Y} {
		if e, ok := a.fixed(); ok {
			check(a, []string{".X.Min", ".Y.Min"}[i], e.low, e.high)
		}
	}
	for i, s := range p.Series {
		along := p.Y // of bounds
		if s.Style == across {
			along = p.X
		}
		for k, point := range s.Points {
			name := fmt.Sprintf(".Series[%d].Points[%d]", i, k)
			check(p.X, name+".X", point.X)
			check(p.Y, name+".Y", point.Y)
			if point.bounded() {
				check(along, name+".Low", point.Low, point.High)
			}
		}
	}
	for i, m := range p.Marks {
		check(p.X, fmt.Sprintf(".Marks[%d].X", i), m.X)
	}
	for i, s := range p.Spans {
		check(p.X, fmt.Sprintf(".Spans[%d]", i), s.From, s.To)
	}
	return err
}

func (a Axis) drawable(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!a.Log || v > 0)
}

func (a Axis) want() string {
	if a.Log {
		return "finite and above 0 on a logarithmic axis"
	}
	return "finite"
}
