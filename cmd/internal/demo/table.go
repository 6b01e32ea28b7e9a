package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/report/table"
)

// Table renders the result for reading, one column a profile. With both it adds
// their ratios, and ends with what the figures mean.
func (r Result) Table() string {
	var b strings.Builder
	writeTable(&b, fmt.Sprintf("%d simulated nodes × %d cores", r.Config.Nodes, r.Config.Cores), r.Simulated)
	if len(r.Real) > 0 {
		b.WriteByte('\n')
		writeTable(&b, "this machine", r.Real)
	}
	if spazio, other, ok := pair(r.Simulated); ok {
		b.WriteString("\n" + verdict(spazio, other) + "\n")
	}
	if c, ok := column(r.Simulated, Pronto); ok {
		b.WriteString("\n" + aside(c) + "\n")
	}
	return b.String()
}

// column returns that of a profile, if pods were done under it.
func column(columns []Column, profile string) (Column, bool) {
	i := slices.IndexFunc(columns, func(c Column) bool { return c.Profile == profile })
	if i < 0 || columns[i].Pods == 0 {
		return Column{}, false
	}
	return columns[i], true
}

// aside is what became of the batch by Pronto's signal.
func aside(c Column) string {
	return fmt.Sprintf("By Pronto's signal, which tells peaks of load and not room, a pod ran for %s s on average\n"+
		"and was done %s s after its submission, and the batch as a whole took %s s.",
		seconds(c.RunTime.Mean), seconds(c.Sojourn.Mean), seconds(c.Makespan))
}

// pair returns the columns of both profiles, if pods were done under each.
func pair(columns []Column) (spazio, other Column, ok bool) {
	spazio, ran := column(columns, Spazio)
	other, ok = column(columns, Default)
	return spazio, other, ran && ok
}

// verdict is the result in a sentence.
func verdict(spazio, other Column) string {
	held := spazio.Makespan > other.Makespan
	but := "and"
	if faster := spazio.RunTime.Mean < other.RunTime.Mean; faster == held {
		but = "but"
	}
	return fmt.Sprintf("Spazio starts a pod only where there is room: on average a pod ran for %s s instead of %s s (%s times as long)\n"+
		"and was done %s s after its submission instead of %s s (%s times),\n"+
		"%s the batch as a whole took %s s instead of %s s (%s times).",
		seconds(spazio.RunTime.Mean), seconds(other.RunTime.Mean), ratio(spazio.RunTime.Mean, other.RunTime.Mean),
		seconds(spazio.Sojourn.Mean), seconds(other.Sojourn.Mean), ratio(spazio.Sojourn.Mean, other.Sojourn.Mean),
		but, seconds(spazio.Makespan), seconds(other.Makespan), ratio(spazio.Makespan, other.Makespan))
}

func seconds(v float64) string { return fmt.Sprintf("%.1f", v) }

func ratio(a, b float64) string {
	if b == 0 {
		return none
	}
	return number(a / b)
}

// none stands for a figure that there is not.
const none = "-"

func writeTable(b *strings.Builder, title string, columns []Column) {
	spazio, other, both := pair(columns)
	t := numbers(title)
	for _, c := range columns {
		t.Header = append(t.Header, c.Profile)
	}
	if both {
		t.Header = append(t.Header, "ratio")
	}
	for _, line := range counts {
		row := []string{line.label}
		for _, c := range columns {
			row = append(row, fmt.Sprint(line.value(c)))
		}
		t.Add(row...)
	}
	for _, line := range figures {
		row := []string{line.label}
		for _, c := range columns {
			row = append(row, line.cell(c))
		}
		if both {
			row = append(row, ratio(line.value(spazio), line.value(other)))
		}
		t.Add(row...)
	}
	_ = t.WriteText(b, 0) // a Builder takes everything
}

// numbers is a table whose columns but the first are numbers; header names the
// first ones.
func numbers(header ...string) table.Table {
	return table.Table{Header: header, Right: slices.Concat([]bool{false}, slices.Repeat([]bool{true}, 8))}
}

// counts are the lines that mean something without a single completed pod.
var counts = []struct {
	label string
	value func(Column) int
}{
	{"pods completed", func(c Column) int { return c.Pods }},
	{"pods failed", func(c Column) int { return c.Failed }},
	{"most pods on a node", func(c Column) int { return c.MostPods }},
}

// figure is a line about the completed pods.
type figure struct {
	label string
	value func(Column) float64
}

func (f figure) cell(c Column) string {
	if c.Pods == 0 {
		return none
	}
	return number(f.value(c))
}

var figures = []figure{
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

func number(v float64) string { return fmt.Sprintf("%.2f", v) }
