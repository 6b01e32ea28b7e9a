package figures

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// episode is what happens from the start of a group of pods to the next.
type episode struct {
	name     string
	from, to float64
	// done is when the last of its containers exited.
	done float64
}

// episodes cuts the run of batches of pods at the marks of the groups.
func episodes(run measuredRun) []episode {
	var all []episode
	end := run.At[len(run.At)-1]
	for _, m := range run.Marks {
		switch {
		case m.Pod < 0:
			if n := len(all); n > 0 {
				all[n-1].to = m.At
			}
			all = append(all, episode{name: m.Name, from: m.At, to: end, done: m.At})
		case m.Name == "exited" && len(all) > 0:
			all[len(all)-1].done = m.At
		}
	}
	return all
}

// marks are those of the run with a name, each once.
func marks(run measuredRun, keep func(mark) (string, bool)) []report.Mark {
	var list []report.Mark
	for _, m := range run.Marks {
		if name, ok := keep(m); ok {
			list = append(list, report.Mark{Name: name, X: m.At})
		}
	}
	return list
}

func starts(m mark) (string, bool) {
	return "pods start: 1, 10, 10 and 2", m.Pod < 0
}

// batchesOfPods is the run of them, and its episodes.
func batchesOfPods(r recording) (measuredRun, []episode) {
	run := runs(r, "batches")[0]
	return run, episodes(run)
}

// totals is figure 2.3.
func totals(r recording) outcome {
	run, all := batchesOfPods(r)
	result := outcome{verdict: holds}
	result.panels = []report.Panel{
		{Title: "CPU pressure by Δtotal/Δt: one pod that sleeps, ten, ten that compute π, two that do", X: seconds, Y: share,
			Series: []report.Series{{Name: "pressure, by total", Points: line(run.At, run.Pressure)}}, Marks: marks(run, starts)},
		{Title: "CPU utilisation", X: seconds, Y: share,
			Series: []report.Series{{Name: "utilisation", Points: line(run.At, run.Utilisation)}}, Marks: marks(run, starts)},
	}
	var parts []string
	for _, e := range all {
		peak := most(between(run.At, run.Pressure, e.from, e.to))
		parts = append(parts, fmt.Sprintf("%.2f with %s", peak, e.name))
		result.values = append(result.values, value{"peak_" + metricName(e.name), peak, "1"})
		if strings.HasSuffix(e.name, "idle") && peak < .2 {
			result.verdict = fails
		}
	}
	result.measured = "The peak pressure over 0.1 s is " + strings.Join(parts, ", ") + "."
	if result.verdict == holds {
		result.measured += " Pods that do nothing at all make the spike too, at their start and at their end: it is the runtime's."
	}
	return result
}

// metricName joins the words of a name for machines.
func metricName(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "_")
}

// averages is figure 2.4.
func averages(r recording) outcome {
	run, all := batchesOfPods(r)
	result := outcome{verdict: fails}
	result.panels = []report.Panel{{
		Title: "CPU pressure: the kernel's avg10 and the rate of total", X: seconds, Y: share,
		Series: []report.Series{
			{Name: "pressure, by total", Style: report.Faint, Points: line(run.At, run.Pressure)},
			{Name: "avg10", Points: line(run.At, run.Avg10)},
		},
		Marks: marks(run, starts),
	}}
	var parts []string
	for _, e := range all {
		while := mean(between(run.At, run.Pressure, e.from, e.done))
		within, ever := most(between(run.At, run.Avg10, e.from, e.done)), most(between(run.At, run.Avg10, e.from, e.to))
		parts = append(parts, fmt.Sprintf("with %s the pressure is %.2f on average until the last container has exited, %.1f s later, when avg10 has reached %.2f (later %.2f)",
			e.name, while, e.done-e.from, within, ever))
		name := metricName(e.name)
		result.values = append(result.values, value{"total_" + name, while, "1"}, value{"avg10_" + name, within, "1"})
		if strings.HasSuffix(e.name, "pi") && within < .8*while {
			result.verdict = holds
		}
	}
	result.measured = strings.ToUpper(parts[0][:1]) + strings.Join(parts, "; ")[1:] + ". Hence the agent reads the total and smooths by itself."
	return result
}
