package tuning

import (
	"fmt"
	"strconv"

	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Bars of the default tuner: the thesis's own settling time, and what it may request and
// leave held up at the end.
const (
	settledBar   = 50
	requestsBar  = 1.25
	throttledBar = .01
)

// Runs are runs, those of a scenario and tuner together. It is a plain value, safe for
// concurrent reading.
type Runs []row

// groups are the runs of each scenario and tuner, in their order.
func (r Runs) groups() (groups []Runs) {
	for i, row := range r {
		if i == 0 || row.Scenario != r[i-1].Scenario || row.Tuner != r[i-1].Tuner {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], row)
	}
	return groups
}

// mean and worst of what is taken of each run.
func (r Runs) mean(of func(row) float64) (mean float64) {
	for _, row := range r {
		mean += of(row) / float64(len(r))
	}
	return mean
}

func (r Runs) worst(of func(row) float64) (worst float64) {
	for _, row := range r {
		worst = max(worst, of(row))
	}
	return worst
}

func settled(r row) float64   { return float64(r.Settled) }
func throttled(r row) float64 { return r.Throttled }
func ratio(r row) float64     { return r.Requests / r.Clairvoyant }

// held counts the runs that hold all bars.
func (r Runs) held() (n int) {
	for _, row := range r {
		if row.Settled <= settledBar && ratio(row) <= requestsBar && row.Throttled <= throttledBar {
			n++
		}
	}
	return n
}

// Table has a row a scenario and tuner: means over the seeds, the worst of them after
// the oblique stroke, and how many hold all bars (see the package).
func (r Runs) Table() text.Table {
	t := text.Table{
		Title: fmt.Sprintf("Ten services whose requests are corrected every 10 minutes, mean / worst of the seeds; bars: settled within %d min, at most %g of the clairvoyant's requests, no service held up in more than %g %% of its periods at the end",
			settledBar, requestsBar, 100*throttledBar),
		Header: []string{"limits at first", "tuner", "settled after (min)", "requests / clairvoyant's", "held up at the end (%)", "latency at the end (ms)", "requests (cores)", "limits (cores)", "hold all bars"},
	}
	for _, g := range r.groups() {
		both := func(of func(row) float64, scale float64, digits int) string {
			return decimal(scale*g.mean(of), digits) + " / " + decimal(scale*g.worst(of), digits)
		}
		t.Add(string(g[0].Scenario), string(g[0].Tuner), both(settled, 1, 0), both(ratio, 1, 2), both(throttled, 100, 2),
			both(func(r row) float64 { return r.Latency }, 1000, 1),
			decimal(g.mean(func(r row) float64 { return r.Requests }), 2), decimal(g.mean(func(r row) float64 { return r.Limits }), 2),
			fmt.Sprintf("%d of %d", g.held(), len(g)))
	}
	return t
}

// Save draws latency and requests over time, of the first seed, into a file ending in
// .png or .svg: two panels a scenario. Of a single scenario and tuner it draws what each
// service requested, and how its limit held it up.
func (r Runs) Save(path string) error {
	if groups := r.groups(); len(groups) == 1 {
		return services(groups[0][0]).WriteFile(path)
	}
	var c report.Chart
	last := Scenario("")
	for _, g := range r.groups() {
		run := g[0]
		if run.Scenario != last {
			last = run.Scenario
			x := report.Axis{Label: "minutes"}
			c.Panels = append(c.Panels,
				report.Panel{Title: "latency of a visit, limits at first: " + string(last), X: x, Y: report.Axis{Label: "ms", Log: true}},
				report.Panel{Title: "requests of all services", X: x, Y: report.Axis{Label: "cores", Log: true}})
		}
		latency, requests := report.Series{Name: string(run.Tuner)}, report.Series{Name: string(run.Tuner), Style: report.Steps}
		for i, m := range run.Minutes {
			latency.Points = append(latency.Points, report.Point{X: float64(i + 1), Y: 1000 * m.Latency})
			requests.Points = append(requests.Points, report.Point{X: float64(i + 1), Y: m.Requests})
		}
		n := len(c.Panels)
		c.Panels[n-2].Series = append(c.Panels[n-2].Series, latency)
		c.Panels[n-1].Series = append(c.Panels[n-1].Series, requests)
	}
	return c.WriteFile(path)
}

// services draws a run's.
func services(run row) report.Chart {
	x := report.Axis{Label: "minutes"}
	of := fmt.Sprintf(", limits at first: %s, tuner: %s", run.Scenario, run.Tuner)
	requests := report.Panel{Title: "requests" + of, X: x, Y: report.Axis{Label: "cores", Log: true}}
	held := report.Panel{Title: "periods in which limits hold services up", X: x, Y: report.Axis{Label: "%"}}
	for i, m := range run.Minutes {
		for n, s := range m.Services {
			if i == 0 {
				style, line := report.Steps, report.Line
				if n >= report.Colours() { // it has another's colour
					style, line = report.Dashed, report.Dashed
				}
				requests.Series = append(requests.Series, report.Series{Name: s.Service, Style: style})
				held.Series = append(held.Series, report.Series{Name: s.Service, Style: line})
			}
			requests.Series[n].Points = append(requests.Series[n].Points, report.Point{X: float64(i + 1), Y: s.Request})
			held.Series[n].Points = append(held.Series[n].Points, report.Point{X: float64(i + 1), Y: 100 * s.Throttled})
		}
	}
	return report.Chart{Panels: []report.Panel{requests, held}}
}

func decimal(v float64, places int) string { return strconv.FormatFloat(v, 'f', places, 64) }
