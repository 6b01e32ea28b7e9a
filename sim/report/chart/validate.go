package chart

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// Validate returns a *field.Error that names the first value that can't be
// drawn: one that is not finite, or not above 0 on a logarithmic axis.
func (c Chart) Validate() error {
	if len(c.Panels) == 0 {
		return report.Refuse("Panels", 0, "at least one")
	}
	for i, p := range c.Panels {
		if err := p.validate(fmt.Sprintf("Panels[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (p Panel) validate(path string) error {
	for _, a := range []struct {
		name string
		Axis
	}{{"X", p.X}, {"Y", p.Y}} {
		if e, ok := a.fixed(); ok && !(a.drawable(e.low) && a.drawable(e.high)) {
			return report.Refuse(path+"."+a.name+".Min", a.Min, a.want())
		}
	}
	for i, s := range p.Series {
		for k, point := range s.Points {
			if err := p.validatePoint(fmt.Sprintf("%s.Series[%d].Points[%d]", path, i, k), s.Style, point); err != nil {
				return err
			}
		}
	}
	for i, m := range p.Marks {
		if !p.X.drawable(m.X) {
			return report.Refuse(fmt.Sprintf("%s.Marks[%d].X", path, i), m.X, p.X.want())
		}
	}
	for i, s := range p.Spans {
		if !p.X.drawable(s.From) || !p.X.drawable(s.To) {
			return report.Refuse(fmt.Sprintf("%s.Spans[%d]", path, i), s, p.X.want())
		}
	}
	return nil
}

func (p Panel) validatePoint(path string, s Style, point Point) error {
	along := p.Y
	if s == Across {
		along = p.X
	}
	switch {
	case !p.X.drawable(point.X):
		return report.Refuse(path+".X", point.X, p.X.want())
	case s != Band && !p.Y.drawable(point.Y):
		return report.Refuse(path+".Y", point.Y, p.Y.want())
	case point.bounded() && !(along.drawable(point.Low) && along.drawable(point.High)):
		return report.Refuse(path+".Low", point.Low, along.want())
	}
	return nil
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
