package comparison

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/sim/report/chart"
)

// picture is a tornado: a row of dots a constant and scale, the constant that moves
// most on top.
func (s Sensitivity) picture() ([]byte, error) {
	dots := &chart.DotPlot{}
	for _, c := range s.Of {
		for _, scale := range s.Scales {
			series := fmt.Sprintf("default × %g", scale)
			least, most := 0., 0.
			for _, e := range c.Effects {
				if e.Scale != scale || !onLog(e.Mean) {
					continue
				}
				if least == 0 {
					least, most = e.Mean, e.Mean
				}
				least, most = min(least, e.Mean), max(most, e.Mean)
				dots.Add(c.Constant.Name, series, e.Mean, 0, 0)
			}
			if most > 0 {
				dots.Add(c.Constant.Name, series, most, least, most) // the bar
			}
		}
	}
	low, high := dots.Range()
	const within = "10 % less and more"
	panel := dots.Panel(Words(s.Metric)+" with one constant changed over that with its default", chart.Axis{
		Label: "ratio", Log: true, Min: min(1/(1+2*tolerance), low/1.05), Max: max(1+2*tolerance, high*1.05),
	})
	if low == 0 {
		panel.X.Min = 1 / (1 + 2*tolerance) // no effect can be drawn
	}
	panel.Marks = []chart.Mark{{X: 1}, {Name: within, X: 1 - tolerance}, {Name: within, X: 1 + tolerance}}
	return drawn([]chart.Panel{panel})
}
