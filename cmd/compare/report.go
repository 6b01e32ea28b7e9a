package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Report is runs of schedulers. It is a plain value, safe for concurrent reading.
type Report struct {
	// Quality says what the joules are; it heads every table.
	Quality string `json:"quality"`
	// Settings are what was run, for a reader.
	Settings [][2]string `json:"settings"`
	// Schedulers are their names, the first of which the others are compared with.
	Schedulers []string    `json:"schedulers"`
	Runs       []runResult `json:"runs"`
}

// ratio is a quantity of a scheduler over that of the first.
type ratio struct {
	Scheduler string `json:"scheduler"`
	Over      string `json:"over"`
	Quantity  string `json:"quantity"`
	// Ratio is with its 95 % interval of so many pairs; Pairs 0 if there is none.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Pairs int     `json:"pairs"`
	// Verdict is the interval in words.
	Verdict string `json:"verdict"`
}

// Verdicts.
const (
	noDifference = "no difference shown"
	less         = "less"
	more         = "more"
	unknown      = "too few pairs"
)

// validate names the first field that is out of range, as a *field.Error.
func (r Report) validate() error {
	if len(r.Schedulers) == 0 {
		return report.Refuse("Schedulers", r.Schedulers, "one at least")
	}
	for i, s := range r.Schedulers {
		if s == "" || slices.Contains(r.Schedulers[:i], s) {
			return report.Refuse("Schedulers", s, "different names")
		}
	}
	for _, run := range r.Runs {
		if !slices.Contains(r.Schedulers, run.Scheduler) {
			return report.Refuse("Runs.Scheduler", run.Scheduler, "one of Schedulers")
		}
	}
	return nil
}

// counted are the runs of a scheduler that count, by pair.
func (r Report) counted(scheduler string) map[int]runResult {
	counted := map[int]runResult{}
	for _, run := range r.Runs {
		if _, before := counted[run.Pair]; run.Scheduler == scheduler && run.Void == "" && !before {
			counted[run.Pair] = run
		}
	}
	return counted
}

// ratios compares each scheduler with the first by each quantity that all of their pairs
// tell. Of a pair in which one run is void, none counts.
func (r Report) ratios() (all []ratio) {
	firsts := r.counted(r.Schedulers[0])
	for _, s := range r.Schedulers[1:] {
		others := r.counted(s)
		for _, q := range quantities() {
			var a, b []float64
			for _, pair := range slices.Sorted(maps.Keys(others)) {
				if first, ok := firsts[pair]; ok {
					a, b = append(a, q.of(others[pair])), append(b, q.of(first))
				}
			}
			of := ratio{Scheduler: s, Over: r.Schedulers[0], Quantity: q.name, Verdict: unknown}
			if e, err := experiment.PairedRatio(a, b); err == nil && !math.IsInf(e.High, 0) {
				of.Ratio, of.Low, of.High, of.Pairs, of.Verdict = e.Mean, e.Low, e.High, e.N, verdict(e.Low, e.High, 1)
			}
			all = append(all, of)
		}
	}
	return all
}

// verdict is what an interval says beside what would be no difference.
func verdict(low, high, none float64) string {
	switch {
	case high < none:
		return less
	case low > none:
		return more
	}
	return noDifference
}

// title heads a table with what its joules are.
func (r Report) title(text string) string { return fmt.Sprintf("%s (joules: %s)", text, r.Quality) }

// named is a table and the name of its file.
type named struct {
	name string
	text.Table
}

// tables are what was measured of each scheduler, where runs tell processor time that, the
// ratios, and the runs.
func (r Report) tables() []named {
	tables := []named{{"means", r.means()}}
	if roles := r.keys(func(run runResult) map[string]float64 { return run.CPU }); len(roles) > 0 {
		t := r.columns("Processor time by role in seconds: mean (least to most)")
		for _, role := range roles {
			r.row(&t, role, r.spread(func(run runResult) float64 { return run.CPU[role] }))
		}
		tables = append(tables, named{"cpu", t})
	}
	if len(r.Schedulers) > 1 {
		tables = append(tables, named{"ratios", r.ratioTable()})
	}
	return append(tables, named{"runs", r.all()})
}

// means has a row a quantity: the mean of the runs that count, the least and the most.
func (r Report) means() text.Table {
	t := r.columns("Schedulers: mean (least to most) of the runs that count")
	for _, q := range quantities() {
		r.row(&t, q.name, r.spread(q.known))
	}
	r.row(&t, "errors", r.spread(func(run runResult) float64 { return float64(run.Errors) }))
	for _, node := range r.keys(func(run runResult) map[string]float64 { return run.Pods }) {
		r.row(&t, "pods on "+node, r.spread(func(run runResult) float64 { return run.Pods[node] }))
	}
	for i, name := range []string{"runs that count", "void runs"} {
		r.row(&t, name, func(scheduler string) string {
			n := 0
			for _, run := range r.Runs {
				if run.Scheduler == scheduler && (run.Void != "") == (i == 1) {
					n++
				}
			}
			return fmt.Sprint(n)
		})
	}
	return t
}

// keys are those of a map of each run, sorted.
func (r Report) keys(of func(runResult) map[string]float64) []string {
	all := map[string]float64{}
	for _, run := range r.Runs {
		maps.Copy(all, of(run))
	}
	return slices.Sorted(maps.Keys(all))
}

// columns is a table with a column a scheduler, row its row of what is said of each.
func (r Report) columns(title string) text.Table {
	t := text.Table{Title: r.title(title), Header: []string{""}, Right: []bool{false}}
	for _, s := range r.Schedulers {
		t.Header, t.Right = append(t.Header, s), append(t.Right, true)
	}
	return t
}

func (r Report) row(t *text.Table, name string, cell func(scheduler string) string) {
	cells := []string{name}
	for _, s := range r.Schedulers {
		cells = append(cells, cell(s))
	}
	t.Add(cells...)
}

// spread is the mean, the least and the most of the runs that count and tell a number.
func (r Report) spread(of func(runResult) float64) func(scheduler string) string {
	return func(scheduler string) string {
		var values []float64
		for _, run := range r.Runs {
			if v := of(run); run.Scheduler == scheduler && run.Void == "" && !math.IsNaN(v) && !math.IsInf(v, 0) {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			return "-"
		}
		return fmt.Sprintf("%s (%s to %s)", number(mean(values)), number(slices.Min(values)), number(slices.Max(values)))
	}
}

func mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// number has four digits that count, or is a dash for none.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsInf(a, 1):
		return "-"
	case a >= 1000 || a == 0:
		return formatted("%.0f", v)
	}
	return formatted("%.4g", v)
}

// formatted is a number, or a dash for none.
func formatted(format string, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func (r Report) ratioTable() text.Table {
	t := text.Table{
		Title:  r.title(fmt.Sprintf("Over %s, with the 95 %% interval of the pairs", r.Schedulers[0])),
		Header: []string{"scheduler", "quantity", "ratio", "from", "to", "pairs", "says"},
		Right:  []bool{false, false, true, true, true, true},
	}
	for _, q := range r.ratios() {
		if q.Pairs == 0 {
			q.Ratio, q.Low, q.High = math.NaN(), math.NaN(), math.NaN()
		}
		t.Add(q.Scheduler, q.Quantity, formatted("%.3f", q.Ratio), formatted("%.3f", q.Low), formatted("%.3f", q.High), fmt.Sprint(q.Pairs), q.Verdict)
	}
	return t
}

// all has a row a run, in the order in which they were made.
func (r Report) all() text.Table {
	t := text.Table{Title: r.title("Runs in their order"), Header: []string{"pair", "scheduler"}, Right: []bool{true, false}}
	for _, q := range quantities() {
		t.Header, t.Right = append(t.Header, q.name), append(t.Right, true)
	}
	t.Header = append(t.Header, "requests", "errors", "sent late, %", "void")
	t.Right = append(t.Right, true, true, true, false)
	for _, run := range r.Runs {
		cells := []string{fmt.Sprint(run.Pair + 1), run.Scheduler}
		for _, q := range quantities() {
			cells = append(cells, number(q.known(run)))
		}
		t.Add(append(cells, fmt.Sprint(run.Requests), fmt.Sprint(run.Errors), fmt.Sprintf("%.2f", 100*run.Late), run.Void)...)
	}
	return t
}

// chart draws the ratios with their intervals, and each run's energy over its processor
// time.
func (r Report) chart() (c report.Chart) {
	var dots report.DotPlot
	for _, q := range r.ratios() {
		if q.Pairs > 0 {
			dots.Add(q.Quantity, q.Scheduler, q.Ratio, q.Low, q.High)
		}
	}
	if least, most := dots.Range(); most > 0 {
		p := dots.Panel(r.title("over "+r.Schedulers[0]), report.Axis{Label: "ratio with its 95 % interval", Min: min(least, .95), Max: max(most, 1.05)})
		p.Marks = []report.Mark{{X: 1}}
		c.Panels = append(c.Panels, p)
	}
	runs := report.Panel{Title: r.title("each run"), X: report.Axis{Label: "processor time of all, s"}, Y: report.Axis{Label: "J a request"}}
	for _, s := range r.Schedulers {
		series := report.Series{Name: s, Style: report.Dots}
		for _, run := range r.Runs {
			if run.Scheduler == s && run.Void == "" && run.Requests > 0 && run.total() > 0 {
				series.Points = append(series.Points, report.Point{X: run.total(), Y: run.Joules / float64(run.Requests)})
			}
		}
		if len(series.Points) > 0 {
			runs.Series = append(runs.Series, series)
		}
	}
	if len(runs.Series) > 0 {
		c.Panels = append(c.Panels, runs)
	}
	return c
}

// addTo adds the report to a page, with its picture as an SVG file of that name.
func (r Report) addTo(p *report.Page, picture string) error {
	if err := r.validate(); err != nil {
		return err
	}
	p.Paragraph(r.words())
	settings := text.Table{Title: r.title("What was run"), Header: []string{"setting", "value"}}
	for _, s := range r.Settings {
		settings.Add(s[0], s[1])
	}
	p.Table(settings)
	if c := r.chart(); len(c.Panels) > 0 {
		p.Picture("schedulers", picture, "Joules: "+r.Quality+".", c)
	}
	for _, t := range r.tables() {
		p.Table(t.Table)
	}
	return nil
}

// words is what the report comes to, of the energy a request.
func (r Report) words() string {
	text := "Joules are of a " + r.Quality + "."
	for _, q := range r.ratios() {
		if q.Quantity != joulesARequest {
			continue
		}
		text += fmt.Sprintf(" %s over %s, %s: %s", q.Scheduler, q.Over, q.Quantity, q.Verdict)
		if q.Pairs > 0 {
			text += fmt.Sprintf(" (%.3f, %.3f to %.3f, %d pairs)", q.Ratio, q.Low, q.High, q.Pairs)
		}
		text += "."
	}
	return text
}
