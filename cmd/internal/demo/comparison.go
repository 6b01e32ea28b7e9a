package demo

import (
	"fmt"
)

// profileColumn holds the figures of a batch under one profile. It is a plain value.
type profileColumn struct {
	Profile string `json:"profile"`
	batchSummary
}

// find returns the column of a profile, if pods were done under it.
func find(columns []profileColumn, profile string) (profileColumn, bool) {
	for _, c := range columns {
		if c.Profile == profile && c.Pods > 0 {
			return c, true
		}
	}
	return profileColumn{}, false
}

// comparison shows the columns beside each other below a title. If pods were done under both profiles,
// a last column has the figures of one over those of the other.
func comparison(title string, columns []profileColumn, one, other string) string {
	header := []string{title}
	for _, c := range columns {
		header = append(header, c.Profile)
	}
	a, found := find(columns, one)
	b, both := find(columns, other)
	both = both && found
	if both {
		header = append(header, "ratio")
	}
	t := numbers(header...)
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
			cell := none
			if c.Pods > 0 {
				cell = fmt.Sprintf("%.2f", line.value(c))
			}
			row = append(row, cell)
		}
		if both {
			row = append(row, ratio(line.value(a), line.value(b)))
		}
		t.Add(row...)
	}
	return rendered(t)
}

// ratio returns a over b, or "-" where b is 0.
func ratio(a, b float64) string {
	if b == 0 {
		return none
	}
	return fmt.Sprintf("%.2f", a/b)
}

// none stands for a missing figure.
const none = "-"

// counts are the lines that make sense without a completed pod.
var counts = []struct {
	label string
	value func(profileColumn) int
}{
	{"pods completed", func(c profileColumn) int { return c.Pods }},
	{"pods failed", func(c profileColumn) int { return c.Failed }},
	{"most pods on a node", func(c profileColumn) int { return c.MostPods }},
}

// figures are the lines about the completed pods.
var figures = []struct {
	label string
	value func(profileColumn) float64
}{
	{"throughput, pods/s", func(c profileColumn) float64 { return c.Throughput }},
	{"makespan, s", func(c profileColumn) float64 { return c.Makespan }},
	{"run time mean, s", func(c profileColumn) float64 { return c.RunTime.Mean }},
	{"run time p50, s", func(c profileColumn) float64 { return c.RunTime.P50 }},
	{"run time p95, s", func(c profileColumn) float64 { return c.RunTime.P95 }},
	{"run time p99, s", func(c profileColumn) float64 { return c.RunTime.P99 }},
	{"sojourn mean, s", func(c profileColumn) float64 { return c.Sojourn.Mean }},
	{"sojourn p50, s", func(c profileColumn) float64 { return c.Sojourn.P50 }},
	{"sojourn p95, s", func(c profileColumn) float64 { return c.Sojourn.P95 }},
	{"sojourn p99, s", func(c profileColumn) float64 { return c.Sojourn.P99 }},
	{"slowdown p99", func(c profileColumn) float64 { return c.SlowdownP99 }},
	{"scheduling latency mean, s", func(c profileColumn) float64 { return c.Scheduling.Mean }},
	{"scheduling latency p99, s", func(c profileColumn) float64 { return c.Scheduling.P99 }},
}
