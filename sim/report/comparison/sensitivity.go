package comparison

import (
	"fmt"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// tolerance is how far a constant may move the metric at the scales tried.
const tolerance = .1

// Sensitivity is how much each constant of Spazio moves a metric. It is a plain
// value, safe for concurrent reading.
type Sensitivity struct {
	Metric string
	// Scales are what defaults were multiplied by.
	Scales []float64
	// Of are the constants, what moves most first, as experiment.Sensitivities
	// returns them.
	Of []experiment.Sensitivity
	Runs
}

// Tables has one of all constants, and one for each that moves a case beyond the
// tolerance.
func (s Sensitivity) Tables() []text.Table {
	return append([]text.Table{s.constants()}, s.delicate()...)
}

// constants has a row a constant.
func (s Sensitivity) constants() text.Table {
	t := text.Table{
		Title:  fmt.Sprintf("%s with one constant changed over that with its default: the largest change of all cases with its 95 %% interval, and the mean of all cases", s.Metric),
		Header: []string{"constant", "default"},
	}
	for _, scale := range s.Scales {
		t.Header = append(t.Header, fmt.Sprintf("×%g: largest change", scale), "mean")
	}
	t.Header = append(t.Header, "all within 10 %")
	for _, c := range s.Of {
		row := []string{c.Constant.Name, c.Constant.At(1)}
		for _, scale := range s.Scales {
			row = append(row, largest(c.Effects, scale)...)
		}
		t.Add(append(row, yes(stays(c)))...)
	}
	return t
}

// stays reports whether no change is beyond the tolerance.
func stays(s experiment.Sensitivity) bool { return !slices.ContainsFunc(s.Effects, beyondTolerance) }

func beyondTolerance(e experiment.Effect) bool { return math.Abs(e.Mean-1) > tolerance }

// largest gives the largest of the effects at a scale, and their geometric mean.
func largest(effects []experiment.Effect, scale float64) []string {
	var worst *experiment.Effect
	logs, n := 0., 0.
	for i, e := range effects {
		if e.Scale != scale {
			continue
		}
		if worst == nil || e.Size() > worst.Size() {
			worst = &effects[i]
		}
		logs, n = logs+math.Log(e.Mean), n+1
	}
	if worst == nil {
		return []string{"-", "-"}
	}
	return []string{
		fmt.Sprintf("%s: %s in %s", worst.Value, interval(worst.Interval), worst.Of), number(math.Exp(logs / n)),
	}
}

// delicate has a table for each constant that moves a case beyond the tolerance,
// with those cases.
func (s Sensitivity) delicate() []text.Table {
	var tables []text.Table
	for _, c := range s.Of {
		if !stays(c) {
			t := moved(c.Effects)
			t.Title = fmt.Sprintf("cases that %s, default %s, moves by more than 10 %%", c.Constant.Name, c.Constant.At(1))
			tables = append(tables, t)
		}
	}
	return tables
}

// moved has a row for each case with an effect beyond the tolerance, and a column
// a value.
func moved(effects []experiment.Effect) text.Table {
	t := text.Table{Header: []string{"case"}}
	byCase := map[string][]experiment.Effect{}
	var order []string
	for _, e := range effects {
		if !slices.Contains(t.Header, e.Value) {
			t.Header = append(t.Header, e.Value)
		}
		if byCase[e.Of] == nil {
			order = append(order, e.Of)
		}
		byCase[e.Of] = append(byCase[e.Of], e)
	}
	for _, name := range order {
		if !slices.ContainsFunc(byCase[name], beyondTolerance) {
			continue
		}
		row := append([]string{name}, slices.Repeat([]string{"-"}, len(t.Header)-1)...)
		for _, e := range byCase[name] {
			row[slices.Index(t.Header, e.Value)] = interval(e.Interval)
		}
		t.Add(row...)
	}
	return t
}

const sensitivityMethod = `Each constant was multiplied alone; whole numbers are rounded, and a value stays within its option's range. A ratio is that of a case with the changed constant to the same case with the default, seed by seed, averaged geometrically, with its 95 % confidence interval (Student's t on logarithms). In the picture every dot is a case.`

// Report writes the sensitivities into a page, with a picture in base.svg.
func (s Sensitivity) Report(p *report.Page, base string) {
	p.Paragraph(s.String())
	p.Paragraph(sensitivityMethod)
	p.Picture(s.Metric, base+".svg", s.Metric+" with one constant changed over that with its default; dashed lines are 10 % less and more.", s.tornado())
	kept := 0
	for _, c := range s.Of {
		if stays(c) {
			kept++
		}
	}
	p.Paragraph(fmt.Sprintf("%d of %d constants move no case by more than 10 %%.", kept, len(s.Of)))
	p.Table(s.constants())
	p.Tables("The others, case by case", s.delicate()...)
}

// tornado has a row of dots a constant and scale, the constant that moves most on top.
func (s Sensitivity) tornado() report.Chart {
	var dots report.DotPlot
	for _, c := range s.Of {
		for _, scale := range s.Scales {
			series := fmt.Sprintf("default × %g", scale)
			least, most := math.Inf(1), 0.
			for _, e := range c.Effects {
				if e.Scale == scale && onLog(e.Mean) {
					least, most = min(least, e.Mean), max(most, e.Mean)
					dots.Add(c.Constant.Name, series, e.Mean, 0, 0)
				}
			}
			if most > 0 {
				dots.Add(c.Constant.Name, series, most, least, most) // the bar
			}
		}
	}
	low, high := dots.Range()
	if low == 0 {
		low = 1 // no effect can be drawn
	}
	const within = "10 % less and more"
	panel := dots.Panel(Words(s.Metric)+" with one constant changed over that with its default", report.Axis{
		Label: "ratio", Log: true, Min: min(1/(1+2*tolerance), low/1.05), Max: max(1+2*tolerance, high*1.05),
	})
	panel.Marks = []report.Mark{{X: 1}, {Name: within, X: 1 - tolerance}, {Name: within, X: 1 + tolerance}}
	return report.Chart{Panels: []report.Panel{panel}}
}
