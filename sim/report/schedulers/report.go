package schedulers

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/chart"
	"github.com/spazio-scheduler/spazio/sim/report/page"
	"github.com/spazio-scheduler/spazio/sim/report/ratio"
	"github.com/spazio-scheduler/spazio/sim/report/table"
)

// Report is runs of schedulers. It is a plain value, safe for concurrent reading.
type Report struct {
	// Quality says what the joules are; it heads every table.
	Quality string `json:"quality"`
	// Settings are what was run, for a reader.
	Settings [][2]string `json:"settings"`
	// Schedulers are their names, the first of which the others are compared with.
	Schedulers []string `json:"schedulers"`
	Runs       []Run    `json:"runs"`
}

// Ratio is a quantity of a scheduler over that of the first.
type Ratio struct {
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
	NoDifference = "no difference shown"
	Less         = "less"
	More         = "more"
	Unknown      = "too few pairs"
)

// Validate names the first field that is out of range, as a *field.Error.
func (r Report) Validate() error {
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

// run is that of a scheduler in a pair that counts.
func (r Report) run(scheduler string, pair int) (Run, bool) {
	for _, run := range r.Runs {
		if run.Scheduler == scheduler && run.Pair == pair && run.counts() {
			return run, true
		}
	}
	return Run{}, false
}

// pairs is one more than the last.
func (r Report) pairs() (n int) {
	for _, run := range r.Runs {
		n = max(n, run.Pair+1)
	}
	return n
}

// Ratios compares each scheduler with the first by each quantity that all of their pairs
// tell. Of a pair in which one run is void, none counts.
func (r Report) Ratios() (all []Ratio) {
	for _, s := range r.Schedulers[1:] {
		for _, q := range Quantities() {
			all = append(all, r.ratio(s, r.Schedulers[0], q))
		}
	}
	return all
}

func (r Report) ratio(scheduler, over string, q Quantity) Ratio {
	var a, b []float64
	for pair := range r.pairs() {
		x, ok := r.run(scheduler, pair)
		y, both := r.run(over, pair)
		if ok && both {
			a, b = append(a, q.Of(x)), append(b, q.Of(y))
		}
	}
	of := Ratio{Scheduler: scheduler, Over: over, Quantity: q.Name, Verdict: Unknown}
	e, err := ratio.Of(a, b)
	if err != nil || math.IsInf(e.High, 0) {
		return of
	}
	of.Ratio, of.Low, of.High, of.Pairs = e.Ratio, e.Low, e.High, e.Pairs
	switch {
	case e.High < 1:
		of.Verdict = Less
	case e.Low > 1:
		of.Verdict = More
	default:
		of.Verdict = NoDifference
	}
	return of
}

// title heads a table with what its joules are.
func (r Report) title(text string) string { return fmt.Sprintf("%s (joules: %s)", text, r.Quality) }

// Tables are what was measured of each scheduler, where runs tell processor time that, the
// ratios, and the runs.
func (r Report) Tables() []table.Table {
	tables := []table.Table{r.means()}
	if r.tellsCPU() {
		tables = append(tables, r.cpus())
	}
	if len(r.Schedulers) > 1 {
		tables = append(tables, r.ratios())
	}
	return append(tables, r.all())
}

// means has a row a quantity: the mean of the runs that count, the least and the most.
func (r Report) means() table.Table {
	t := r.columns("Schedulers: mean (least to most) of the runs that count")
	for _, q := range Quantities() {
		r.row(&t, q.Name, q.told)
	}
	r.row(&t, "errors", func(run Run) float64 { return float64(run.Errors) })
	for _, node := range r.nodes() {
		r.row(&t, "pods on "+node, func(run Run) float64 { return run.Pods[node] })
	}
	t.Add(r.counted("runs that count", true)...)
	t.Add(r.counted("void runs", false)...)
	return t
}

func (r Report) tellsCPU() bool {
	return slices.ContainsFunc(r.Runs, func(run Run) bool { return len(run.CPU) > 0 })
}

// cpus has a row a role.
func (r Report) cpus() table.Table {
	t := r.columns("Processor time by role in seconds: mean (least to most)")
	var roles []string
	for _, run := range r.Runs {
		roles = append(roles, run.roles()...)
	}
	slices.Sort(roles)
	for _, role := range slices.Compact(roles) {
		r.row(&t, role, func(run Run) float64 { return run.CPU[role] })
	}
	return t
}

func (r Report) columns(title string) table.Table {
	t := table.Table{Title: r.title(title), Header: []string{""}, Right: []bool{false}}
	for _, s := range r.Schedulers {
		t.Header, t.Right = append(t.Header, s), append(t.Right, true)
	}
	return t
}

func (r Report) row(t *table.Table, name string, of func(Run) float64) {
	cells := []string{name}
	for _, s := range r.Schedulers {
		cells = append(cells, r.spread(s, of))
	}
	t.Add(cells...)
}

// values are those of the scheduler's runs that count and tell it.
func (r Report) values(scheduler string, of func(Run) float64) (values []float64) {
	for _, run := range r.Runs {
		if v := of(run); run.Scheduler == scheduler && run.counts() && !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	return values
}

func (r Report) spread(scheduler string, of func(Run) float64) string {
	values := r.values(scheduler, of)
	if len(values) == 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%s to %s)", number(mean(values)), number(slices.Min(values)), number(slices.Max(values)))
}

func mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// number has four digits that count.
func number(v float64) string {
	if a := math.Abs(v); a >= 1000 || a == 0 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

func (r Report) counted(name string, counts bool) []string {
	cells := []string{name}
	for _, s := range r.Schedulers {
		n := 0
		for _, run := range r.Runs {
			if run.Scheduler == s && run.counts() == counts {
				n++
			}
		}
		cells = append(cells, fmt.Sprint(n))
	}
	return cells
}

// nodes are the names of all, sorted.
func (r Report) nodes() []string {
	var nodes []string
	for _, run := range r.Runs {
		for node := range run.Pods {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func (r Report) ratios() table.Table {
	t := table.Table{
		Title:  r.title(fmt.Sprintf("Over %s, with the 95 %% interval of the pairs", r.Schedulers[0])),
		Header: []string{"scheduler", "quantity", "ratio", "from", "to", "pairs", "says"},
		Right:  []bool{false, false, true, true, true, true},
	}
	for _, q := range r.Ratios() {
		if q.Pairs == 0 {
			t.Add(q.Scheduler, q.Quantity, "-", "-", "-", "0", q.Verdict)
			continue
		}
		t.Add(q.Scheduler, q.Quantity, fmt.Sprintf("%.3f", q.Ratio), fmt.Sprintf("%.3f", q.Low), fmt.Sprintf("%.3f", q.High), fmt.Sprint(q.Pairs), q.Verdict)
	}
	return t
}

// all has a row a run, in the order in which they were made.
func (r Report) all() table.Table {
	t := table.Table{Title: r.title("Runs in their order"), Header: []string{"pair", "scheduler"}, Right: []bool{true, false}}
	for _, q := range Quantities() {
		t.Header, t.Right = append(t.Header, q.Name), append(t.Right, true)
	}
	t.Header = append(t.Header, "requests", "errors", "sent late, %", "void")
	t.Right = append(t.Right, true, true, true, false)
	for _, run := range r.Runs {
		cells := []string{fmt.Sprint(run.Pair + 1), run.Scheduler}
		for _, q := range Quantities() {
			cell := "-"
			if v := q.told(run); !math.IsNaN(v) && !math.IsInf(v, 0) {
				cell = number(v)
			}
			cells = append(cells, cell)
		}
		t.Add(append(cells, fmt.Sprint(run.Requests), fmt.Sprint(run.Errors), fmt.Sprintf("%.2f", 100*run.Late), run.Void)...)
	}
	return t
}

// Chart draws the ratios with their intervals, and each run's energy over its processor
// time.
func (r Report) Chart() chart.Chart {
	var c chart.Chart
	var dots chart.DotPlot
	for _, q := range r.Ratios() {
		if q.Pairs > 0 {
			dots.Add(q.Quantity, q.Scheduler, q.Ratio, q.Low, q.High)
		}
	}
	if least, most := dots.Range(); most > 0 {
		p := dots.Panel(r.title("over "+r.Schedulers[0]), chart.Axis{Label: "ratio with its 95 % interval", Min: min(least, .95), Max: max(most, 1.05)})
		p.Marks = []chart.Mark{{X: 1}}
		c.Panels = append(c.Panels, p)
	}
	runs := chart.Panel{Title: r.title("each run"), X: chart.Axis{Label: "processor time of all, s"}, Y: chart.Axis{Label: "J a request"}}
	for _, s := range r.Schedulers {
		series := chart.Series{Name: s, Style: chart.Dots}
		for _, run := range r.Runs {
			if run.Scheduler == s && run.counts() && run.Requests > 0 && run.total() > 0 {
				series.Points = append(series.Points, chart.Point{X: run.total(), Y: run.Joules / float64(run.Requests)})
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

// AddTo adds the report to a page, with its picture as an SVG file of that name.
func (r Report) AddTo(p page.Page, picture string) error {
	if err := r.Validate(); err != nil {
		return err
	}
	p.Paragraph(r.Words())
	settings := table.Table{Title: r.title("What was run"), Header: []string{"setting", "value"}}
	for _, s := range r.Settings {
		settings.Add(s[0], s[1])
	}
	p.Table(settings)
	c := r.Chart()
	if len(c.Panels) > 0 {
		var svg bytes.Buffer
		if err := c.WriteSVG(&svg); err != nil {
			return err
		}
		p.Picture(page.Picture{Name: "schedulers", Caption: "Joules: " + r.Quality + ".", File: picture, SVG: svg.Bytes()})
	}
	for _, t := range r.Tables() {
		p.Table(t)
	}
	return nil
}

// Words is what the report comes to, of the energy a request.
func (r Report) Words() string {
	text := "Joules are of a " + r.Quality + "."
	for _, q := range r.Ratios() {
		if q.Quantity != JoulesARequest {
			continue
		}
		if q.Pairs == 0 {
			text += fmt.Sprintf(" %s over %s, %s: %s.", q.Scheduler, q.Over, q.Quantity, q.Verdict)
			continue
		}
		text += fmt.Sprintf(" %s over %s, %s: %s (%.3f, %.3f to %.3f, %d pairs).", q.Scheduler, q.Over, q.Quantity, q.Verdict, q.Ratio, q.Low, q.High, q.Pairs)
	}
	return text
}
