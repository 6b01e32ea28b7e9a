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
		Header: []string{"limits at first", "tuner", "settled after (min)", "requests / clairvoyant's", "held up at the end (%)", "latency at the end (ms)", "its p95, p98, p99", "requests (cores)", "limits (cores)", "requests, limits (MB)", "hold all bars"},
	}
	for _, g := range r.groups() {
		both := func(of func(row) float64, scale float64, digits int) string {
			return decimal(scale*g.mean(of), digits) + " / " + decimal(scale*g.worst(of), digits)
		}
		alone := func(of func(row) float64, scale float64, digits int) string { return decimal(scale*g.mean(of), digits) }
		t.Add(string(g[0].Scenario), string(g[0].Tuner), both(settled, 1, 0), both(ratio, 1, 2), both(throttled, 100, 2),
			both(func(r row) float64 { return r.Latency }, 1000, 1),
			alone(func(r row) float64 { return r.P95 }, 1000, 1)+", "+alone(func(r row) float64 { return r.P98 }, 1000, 1)+", "+alone(func(r row) float64 { return r.P99 }, 1000, 1),
			alone(func(r row) float64 { return r.Requests }, 1, 2), alone(func(r row) float64 { return r.Limits }, 1, 2),
			alone(func(r row) float64 { return r.MemoryRequests }, 1e-6, 0)+", "+alone(func(r row) float64 { return r.MemoryLimits }, 1e-6, 0),
			fmt.Sprintf("%d of %d", g.held(), len(g)))
	}
	return t
}

// Save draws latency and requests over time, of the first seed, into a file ending in
// .png or .svg: two panels a scenario. Of a single scenario and tuner it draws each service.
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

// services draws a run's: what each requested, how limits held it up, its memory, and how
// often that failed.
func services(run row) report.Chart {
	of := fmt.Sprintf(", limits at first: %s, tuner: %s", run.Scenario, run.Tuner)
	x := report.Axis{Label: "minutes"}
	panels := []report.Panel{
		{Title: "requests" + of, X: x, Y: report.Axis{Label: "cores", Log: true}},
		{Title: "periods in which limits hold services up", X: x, Y: report.Axis{Label: "%"}},
		{Title: "memory held", X: x, Y: report.Axis{Label: "MB"}},
		{Title: "memory failures: pages touched for the first time", X: x, Y: report.Axis{Label: "a second"}},
	}
	for i, m := range run.Minutes {
		for n, s := range m.Services {
			for k, value := range []float64{s.Request, 100 * s.Throttled, s.Memory / 1e6, s.Faults} {
				p := &panels[k]
				if i == 0 {
					p.Series = append(p.Series, report.Series{Name: s.Service, Style: style(n, k)})
				}
				p.Series[n].Points = append(p.Series[n].Points, report.Point{X: float64(i + 1), Y: value})
			}
		}
	}
	return report.Chart{Panels: panels}
}

// style is that of a service in a panel, of which the first shows what holds until it changes.
func style(service, panel int) report.Style {
	switch {
	case service >= report.Colours(): // it has another's colour
		return report.Dashed
	case panel == 0:
		return report.Steps
	}
	return report.Line
}

func decimal(v float64, places int) string { return strconv.FormatFloat(v, 'f', places, 64) }
