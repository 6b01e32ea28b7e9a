package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// line is a metric over all seeds.
type line struct {
	Scheduler string `json:"scheduler"`
	Metric    string `json:"metric"`
	Unit      string `json:"unit"`
	// Cluster and Simulator are means over the seeds, Ratio the geometric mean of
	// simulator over cluster, Low and High the bounds of its 95 % interval; nil
	// for a single seed.
	Cluster   float64  `json:"cluster"`
	Simulator float64  `json:"simulator"`
	Ratio     float64  `json:"ratio"`
	Low       *float64 `json:"low,omitempty"`
	High      *float64 `json:"high,omitempty"`
	// Judged says that the ratio counts, Agrees that it is within the tolerance.
	Judged bool `json:"judged"`
	Agrees bool `json:"agrees"`
}

const (
	onCluster   = "cluster"
	inSimulator = "simulator"
)

// summarise joins the seeds.
func summarise(rows []row, tolerance float64) []line {
	var sides []experiment.Row
	units := map[string]string{}
	for _, r := range rows {
		units[r.Metric] = r.Unit
		sides = append(sides,
			experiment.Row{Experiment: r.Scheduler, Scheduler: onCluster, Seed: r.Seed, Metric: r.Metric, Value: r.Cluster},
			experiment.Row{Experiment: r.Scheduler, Scheduler: inSimulator, Seed: r.Seed, Metric: r.Metric, Value: r.Simulator})
	}
	means := map[[3]string]float64{}
	for _, l := range experiment.Summarise(sides) {
		means[[3]string{l.Experiment, l.Scheduler, l.Metric}] = l.Mean
	}
	var lines []line
	for _, l := range experiment.Ratios(sides, onCluster) {
		if l.Scheduler != inSimulator || math.IsNaN(l.Mean) || math.IsInf(l.Mean, 0) {
			continue
		}
		out := line{
			Scheduler: l.Experiment, Metric: l.Metric, Unit: units[l.Metric], Ratio: l.Mean,
			Cluster:   means[[3]string{l.Experiment, onCluster, l.Metric}],
			Simulator: means[[3]string{l.Experiment, inSimulator, l.Metric}],
			Judged:    slices.Contains(judged, l.Metric),
			Agrees:    math.Abs(l.Mean-1) <= tolerance,
		}
		if !math.IsNaN(l.Low) {
			out.Low, out.High = &l.Low, &l.High
		}
		lines = append(lines, out)
	}
	return lines
}

// verdict is an error that names what does not agree.
func verdict(lines []line) error {
	for _, l := range lines {
		if l.Judged && !l.Agrees {
			return fmt.Errorf("%s of %s: simulator over cluster is %.3f", l.Metric, l.Scheduler, l.Ratio)
		}
	}
	return nil
}

func write(out io.Writer, format string, rows []row, lines []line) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", " ")
		return encoder.Encode(map[string]any{"rows": rows, "summary": lines})
	case "csv":
		return writeCSV(out, rows)
	}
	return writeTable(out, lines)
}

func writeCSV(out io.Writer, rows []row) error {
	w := csv.NewWriter(out)
	records := [][]string{{"scheduler", "seed", "metric", "unit", onCluster, inSimulator}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, r := range rows {
		records = append(records, []string{
			r.Scheduler, strconv.FormatUint(r.Seed, 10), r.Metric, r.Unit, number(r.Cluster), number(r.Simulator),
		})
	}
	return w.WriteAll(records)
}

func writeTable(out io.Writer, lines []line) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scheduler\tmetric\tunit\tcluster\tsimulator\tratio\t95 % interval\tverdict")
	for _, l := range lines {
		interval, verdict := "-", ""
		if l.Low != nil {
			interval = fmt.Sprintf("%.3f–%.3f", *l.Low, *l.High)
		}
		switch {
		case l.Judged && l.Agrees:
			verdict = "agrees"
		case l.Judged:
			verdict = "differs"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.4g\t%.4g\t%.3f\t%s\t%s\n",
			l.Scheduler, l.Metric, l.Unit, l.Cluster, l.Simulator, l.Ratio, interval, verdict)
	}
	return w.Flush()
}
