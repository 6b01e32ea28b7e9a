package demo

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Result is what a demo ends with.
type Result struct {
	Config Config `json:"config"`
	// Simulated sums up the pods on the simulated nodes, Real those on this
	// machine, one entry a profile in the order of the runs.
	Simulated []Summary `json:"simulated"`
	Real      []Summary `json:"real,omitempty"`
	// Batches have every pod, if Options.Records asks for them.
	Batches []BatchRecord `json:"batches,omitempty"`
}

// Table renders the result for reading, one column a profile.
func (r Result) Table() string {
	var b strings.Builder
	writeTable(&b, fmt.Sprintf("%d simulated nodes × %d cores", r.Config.Nodes, r.Config.Cores), r.Simulated)
	if len(r.Real) > 0 {
		b.WriteByte('\n')
		writeTable(&b, "this machine", r.Real)
	}
	return b.String()
}

func writeTable(b *strings.Builder, title string, columns []Summary) {
	rows := [][]string{{title}}
	for _, c := range columns {
		rows[0] = append(rows[0], c.Profile)
	}
	for _, line := range tableLines {
		cells := []string{line.label}
		for _, c := range columns {
			if c.Pods == 0 && !line.always {
				cells = append(cells, "-")
			} else {
				cells = append(cells, line.value(c))
			}
		}
		rows = append(rows, cells)
	}
	writeAligned(b, rows)
}

// tableLine is one line of the table; always says that it means something
// without a single completed pod.
type tableLine struct {
	label  string
	always bool
	value  func(Summary) string
}

var tableLines = []tableLine{
	{"pods completed", true, func(s Summary) string { return fmt.Sprint(s.Pods) }},
	{"pods failed", true, func(s Summary) string { return fmt.Sprint(s.Failed) }},
	{"throughput, pods/s", false, func(s Summary) string { return number(s.Throughput) }},
	{"makespan, s", false, func(s Summary) string { return number(s.Makespan) }},
	{"run time mean, s", false, func(s Summary) string { return number(s.RunTime.Mean) }},
	{"run time p50, s", false, func(s Summary) string { return number(s.RunTime.P50) }},
	{"run time p95, s", false, func(s Summary) string { return number(s.RunTime.P95) }},
	{"run time p99, s", false, func(s Summary) string { return number(s.RunTime.P99) }},
	{"sojourn mean, s", false, func(s Summary) string { return number(s.Sojourn.Mean) }},
	{"sojourn p50, s", false, func(s Summary) string { return number(s.Sojourn.P50) }},
	{"sojourn p95, s", false, func(s Summary) string { return number(s.Sojourn.P95) }},
	{"sojourn p99, s", false, func(s Summary) string { return number(s.Sojourn.P99) }},
	{"slowdown p99", false, func(s Summary) string { return number(s.SlowdownP99) }},
	{"most pods on a node", true, func(s Summary) string { return fmt.Sprint(s.MostPods) }},
	{"scheduling latency mean, s", false, func(s Summary) string { return number(s.Scheduling.Mean) }},
	{"scheduling latency p99, s", false, func(s Summary) string { return number(s.Scheduling.P99) }},
}

func number(v float64) string { return fmt.Sprintf("%.2f", v) }

// writeAligned writes rows of cells, the first column to the left, the others to
// the right.
func writeAligned(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString(cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		b.WriteByte('\n')
	}
}
