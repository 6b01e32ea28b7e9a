package simulate

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/report/page"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// results are what was run.
type results struct {
	cases []experiment.Case
	rows  []experiment.Row
	seeds []uint64
	set   []string                // assignments to Spazio's options
	left  []experiment.Experiment // left out
}

// write writes the rows for a machine, or the tables for a person.
func (p *plan) write(out io.Writer, rows []experiment.Row, tables func() string) error {
	switch p.output {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", " ")
		return encoder.Encode(rows)
	case "csv":
		return writeCSV(out, rows)
	}
	_, err := io.WriteString(out, tables())
	return err
}

func writeCSV(out io.Writer, rows []experiment.Row) error {
	w := csv.NewWriter(out)
	records := [][]string{{"experiment", "scheduler", "seed", "metric", "value", "unit"}}
	for _, row := range rows {
		records = append(records, []string{
			row.Experiment, row.Scheduler, strconv.FormatUint(row.Seed, 10), row.Metric,
			strconv.FormatFloat(row.Value, 'g', -1, 64), row.Unit,
		})
	}
	if err := w.WriteAll(records); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	return nil
}

// shown are the metrics of tables, in order; rows have more.
var shown = []string{
	"useful_share", "makespan", "run_mean", "run_p99", "sojourn_mean", "sojourn_p99", "slowdown_p99", "slowdown_jain",
	"server_p99", "most_pods_per_core", "least_share", "cpu_wait", "memory_overload", "kills", "unfinished", "utilisation",
}

// compared are the metrics whose ratio to the default means something.
var compared = []string{
	"useful_share", "makespan", "run_mean", "sojourn_mean", "sojourn_p99", "slowdown_p99", "server_p99", "memory_overload",
}

// tables renders two tables a case, one line a scheduler.
func (r results) tables() string {
	var b strings.Builder
	for i, c := range r.cases {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, t := range r.tablesOf(c.Label) {
			fmt.Fprintf(&b, "%s\n", t.Title)
			t.WriteAligned(&b)
		}
	}
	for _, v := range []page.Table{r.verdicts(), r.losses(), r.findings()} {
		if len(v.Rows) > 1 {
			fmt.Fprintf(&b, "\n%s\n", v.Title)
			v.WriteAligned(&b)
		}
	}
	return b.String()
}

// table is one that is being filled.
type table page.Table

func (r results) tablesOf(label string) []page.Table {
	means := table{Title: fmt.Sprintf("%s: mean of %d seeds ± half of the 95 %% interval", label, len(r.seeds))}
	means.fill(experiment.Summarise(r.rows), label, shown)
	tables := []page.Table{page.Table(means)}
	if ratios := experiment.Ratios(r.rows, experiment.Default); len(ratios) > 0 {
		t := table{Title: label + ": ratio to default, with its 95 % interval"}
		t.fillRatios(ratios, label)
		if len(t.Rows) > 1 {
			tables = append(tables, page.Table(t))
		}
	}
	return tables
}

// fill adds the header and one row a scheduler, for the metrics that any has.
func (t *table) fill(lines []experiment.Line, label string, metrics []string) {
	t.matrix(lines, label, metrics, func(l experiment.Line) string {
		if math.IsNaN(l.Low) {
			return figure(l.Mean)
		}
		return figure(l.Mean) + " ±" + figure((l.High-l.Low)/2)
	})
}

func (t *table) fillRatios(lines []experiment.Line, label string) {
	var others []experiment.Line
	for _, l := range lines {
		if l.Scheduler != experiment.Default && l.Scheduler != experiment.Idle {
			others = append(others, l)
		}
	}
	t.matrix(others, label, compared, func(l experiment.Line) string { return interval(l.Interval) })
}

func (t *table) matrix(lines []experiment.Line, label string, metrics []string, cell func(experiment.Line) string) {
	cells := map[string]map[string]string{}
	var schedulers []string
	present := map[string]bool{}
	units := map[string]string{}
	for _, l := range lines {
		if l.Experiment != label {
			continue
		}
		if cells[l.Scheduler] == nil {
			cells[l.Scheduler] = map[string]string{}
			schedulers = append(schedulers, l.Scheduler)
		}
		cells[l.Scheduler][l.Metric] = cell(l)
		present[l.Metric], units[l.Metric] = true, l.Unit
	}
	metrics = slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { return !present[m] })
	header := []string{"scheduler"}
	for _, m := range metrics {
		if unit := units[m]; unit != "1" {
			m += ", " + unit
		}
		header = append(header, m)
	}
	t.Rows = [][]string{header}
	for _, s := range schedulers {
		row := []string{s}
		for _, m := range metrics {
			value, ok := cells[s][m]
			if !ok {
				value = "-"
			}
			row = append(row, value)
		}
		t.Rows = append(t.Rows, row)
	}
}

// figure keeps three digits.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case v == 0:
		return "0"
	case math.IsInf(v, 0) || math.IsNaN(v):
		return "∞"
	case a >= 1000:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func (r results) verdicts() page.Table {
	t := page.Table{Title: "targets of spazio", Rows: [][]string{{"experiment", "target", "measured", "holds"}}}
	for _, v := range experiment.Judge(r.cases, r.rows, experiment.Spazio) {
		t.Rows = append(t.Rows, []string{v.Experiment, v.Claim, interval(v.Measured), yes(v.Holds)})
	}
	return t
}

func (r results) losses() page.Table {
	t := page.Table{
		Title: "where another scheduler is better than spazio by more than a hundredth: the best one, and spazio's ratio to it",
		Rows:  [][]string{{"experiment", "metric", "the best", "spazio over it"}},
	}
	for _, l := range experiment.Losses(r.cases, r.rows, experiment.Spazio) {
		t.Rows = append(t.Rows, []string{l.Experiment, l.Metric, l.Other, interval(l.Ratio)})
	}
	return t
}

func (r results) findings() page.Table {
	t := page.Table{
		Title: "what a fluid prototype found, and what holds here",
		Rows:  [][]string{{"experiment", "finding", "prototype", "measured", "holds"}},
	}
	for _, v := range experiment.JudgeFindings(r.cases, r.rows) {
		t.Rows = append(t.Rows, []string{v.Experiment, v.Claim, v.Prototype, interval(v.Measured), yes(v.Holds)})
	}
	return t
}

// interval is a mean with its bounds.
func interval(i experiment.Interval) string {
	if math.IsNaN(i.Low) {
		return figure(i.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", figure(i.Mean), figure(i.Low), figure(i.High))
}

func yes(holds bool) string {
	if holds {
		return "yes"
	}
	return "no"
}
