package batch

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Column sums up a batch under one scheduler's profile. It is a plain value, safe for
// concurrent reading.
type Column struct {
	Profile string `json:"profile"`
	Summary
}

// Find returns the column of a profile, if pods were done under it.
func Find(columns []Column, profile string) (Column, bool) {
	for _, c := range columns {
		if c.Profile == profile && c.Pods > 0 {
			return c, true
		}
	}
	return Column{}, false
}

// Text shows the columns beside each other below a title, and where pods were done under
// both profiles, the figures of one over those of the other.
func Text(title string, columns []Column, one, other string) string {
	rows := [][]string{{title}}
	a, found := Find(columns, one)
	b, both := Find(columns, other)
	both = both && found
	for _, c := range columns {
		rows[0] = append(rows[0], c.Profile)
	}
	if both {
		rows[0] = append(rows[0], "ratio")
	}
	for _, line := range counts {
		row := []string{line.label}
		for _, c := range columns {
			row = append(row, fmt.Sprint(line.value(c)))
		}
		rows = append(rows, row)
	}
	for _, line := range figures {
		row := []string{line.label}
		for _, c := range columns {
			cell := none
			if c.Pods > 0 {
				cell = fmt.Sprintf("%.2f", line.value(c))
			}
			row = append(row, cell)
		}
		if both {
			row = append(row, Ratio(line.value(a), line.value(b)))
		}
		rows = append(rows, row)
	}
	return aligned(rows)
}

// Ratio is a over b as Text shows it, "-" where b is 0.
func Ratio(a, b float64) string {
	if b == 0 {
		return none
	}
	return fmt.Sprintf("%.2f", a/b)
}

// none stands for a figure that there is not.
const none = "-"

// counts are the lines that mean something without a single completed pod.
var counts = []struct {
	label string
	value func(Column) int
}{
	{"pods completed", func(c Column) int { return c.Pods }},
	{"pods failed", func(c Column) int { return c.Failed }},
	{"most pods on a node", func(c Column) int { return c.MostPods }},
}

// figures are the lines about the completed pods.
var figures = []struct {
	label string
	value func(Column) float64
}{
	{"throughput, pods/s", func(c Column) float64 { return c.Throughput }},
	{"makespan, s", func(c Column) float64 { return c.Makespan }},
	{"run time mean, s", func(c Column) float64 { return c.RunTime.Mean }},
	{"run time p50, s", func(c Column) float64 { return c.RunTime.P50 }},
	{"run time p95, s", func(c Column) float64 { return c.RunTime.P95 }},
	{"run time p99, s", func(c Column) float64 { return c.RunTime.P99 }},
	{"sojourn mean, s", func(c Column) float64 { return c.Sojourn.Mean }},
	{"sojourn p50, s", func(c Column) float64 { return c.Sojourn.P50 }},
	{"sojourn p95, s", func(c Column) float64 { return c.Sojourn.P95 }},
	{"sojourn p99, s", func(c Column) float64 { return c.Sojourn.P99 }},
	{"slowdown p99", func(c Column) float64 { return c.SlowdownP99 }},
	{"scheduling latency mean, s", func(c Column) float64 { return c.Scheduling.Mean }},
	{"scheduling latency p99, s", func(c Column) float64 { return c.Scheduling.P99 }},
}

// aligned writes rows in columns, two blanks apart: the first to the left, numbers to the
// right.
func aligned(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "  %*s", widths[i+1], cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
