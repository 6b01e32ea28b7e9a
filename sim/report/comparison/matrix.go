package comparison

import (
	"slices"
	"unicode/utf8"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// matrix is a table of schedulers by metrics.
type matrix struct {
	title  string
	lines  []experiment.Line
	cell   func(experiment.Line) string
	metric []string // in order
}

// narrowest is the width that a column's name can be broken to.
const narrowest = 10

// table has the metrics, the first first, that fit the width; all without one.
func (m matrix) table(width int) text.Table {
	t := text.Table{Title: m.title, Header: []string{"scheduler"}}
	index := map[string]int{} // of rows
	for _, l := range m.lines {
		if _, ok := index[l.Scheduler]; !ok {
			index[l.Scheduler] = len(t.Rows)
			t.Add(l.Scheduler)
		}
	}
	left := width - t.Width()
	for _, metric := range m.metric {
		header, cells, widest := metric, make([]string, len(t.Rows)), narrowest
		for i := range cells {
			cells[i] = "-"
		}
		for _, l := range m.lines {
			if l.Metric != metric {
				continue
			}
			if l.Unit != "1" {
				header = metric + ", " + l.Unit
			}
			cell := m.cell(l)
			cells[index[l.Scheduler]] = cell
			widest = max(widest, utf8.RuneCountInString(cell))
		}
		if left -= widest + 2; width > 0 && left < 0 {
			break
		}
		t.Header = append(t.Header, header)
		for i := range t.Rows {
			t.Rows[i] = append(t.Rows[i], cells[i])
		}
	}
	if len(t.Header) == 1 {
		return text.Table{}
	}
	return t
}

// foremost are the metrics that an experiment's question is about, by the
// experiment's name; of others, those of "".
var foremost = map[string][]string{
	"":               {"makespan", "run_mean", "sojourn_mean", "slowdown_p99", "most_pods_per_core"},
	"memory":         {"makespan", "run_mean", "sojourn_mean", "memory_overload", "kills", "evictions", "gave_up"},
	"mixed-io":       {"makespan", "run_mean", "sojourn_mean", "memory_overload", "kills", "evictions", "gave_up"},
	"profiles-mixes": profiles, "profiles-unlike": profiles, "profiles-arrivals": profiles, "profiles-wrong": profiles, "profiles-frozen": profiles, "profiles-daily": profiles, "profiles-growing": profiles, "profiles-one-off": profiles, "profiles-lives": profiles,
	"energy-unlike-nodes": energies, "energy-requests": energies, "energy-alike-nodes": energies, "energy-concave": energies, "energy-batch": energies,
	"servers":        {"server_p99", "makespan", "run_mean", "sojourn_mean"},
	"services":       {"server_p99", "utilisation", "sojourn_mean", "server_unserved", "server_failed"},
	"overdue":        {"wait_max", "resident_slowdown_p99", "run_mean", "sojourn_mean"},
	"background":     {"slowdown_p99", "sojourn_mean", "sojourn_p99", "run_mean"},
	"functions":      {"slowdown_p99", "sojourn_mean", "sojourn_p99", "run_mean"},
	"relief":         {"total_slowdown_p99", "server_p99", "work_lost", "disruptions", "disrupted_again"},
	"wrong-requests": {"slowdown_p99", "sojourn_mean", "sojourn_p99", "run_mean"},
}

// profiles are what experiments on profiles are about.
var profiles = []string{"makespan", "sojourn_mean", "slowdown_p99", "wait_largest_tenth", "memory_overload", "kills", "evictions", "gave_up", "profiled", "memory_ratio_p50"}

// energies are what experiments on energy are about.
var energies = []string{"energy", "energy_dynamic", "energy_if_empty_slept", "slowdown_p99", "sojourn_p99", "edp", "energy_pod"}

// columns returns the metrics of the lines, the most important first: how many pods were unfinished,
// which the others are to be read with, those that the experiment is about, those that schedulers are judged by, and the others as they
// come. Metrics that are 0 under every scheduler are left out.
func columns(name string, lines []experiment.Line) []string {
	var reported []string
	for _, l := range lines {
		if l.Mean != 0 && !slices.Contains(reported, l.Metric) {
			reported = append(reported, l.Metric)
		}
	}
	first := foremost[name]
	if first == nil {
		first = foremost[""]
	}
	var order []string
	for _, metric := range slices.Concat([]string{"unfinished"}, first, experiment.Judged(), reported) {
		if slices.Contains(reported, metric) && !slices.Contains(order, metric) {
			order = append(order, metric)
		}
	}
	return order
}
