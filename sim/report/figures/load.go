package figures

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/report"
)

var (
	seconds = report.Axis{Label: "seconds", Whole: true}
	workers = report.Axis{Label: "workers at once", Whole: true, Min: 0, Max: 12.3}
	share   = report.Axis{Label: "share", Min: 0, Max: 1.02}
)

// level is what n workers at once show, over all batches of a run.
type level struct {
	n                                       int
	utilisation, pressure, half             float64
	completion, fastest, slowest, perSecond float64
	memory                                  float64
}

// settling is how long after the start of a batch its processes are there.
const settling = .15

// levels summarises the runs of a load by the number of workers.
func levels(r recording, load string) (all []level) {
	for _, run := range runs(r, load) {
		all = append(all, summarise(run))
	}
	return all
}

func summarise(run measuredRun) level {
	l := level{n: run.Workers, fastest: math.Inf(1)}
	spans := batches(run)
	if len(spans) == 0 { // without any work
		l.utilisation, l.pressure, l.memory = mean(run.Utilisation), mean(run.Pressure), mean(run.Memory)
		l.half = (l.utilisation + l.pressure) / 2
		return l
	}
	var utilisation, pressure, memory []float64
	jobs, spent := 0, 0.
	for _, s := range spans {
		utilisation = append(utilisation, between(run.At, run.Utilisation, s.start+settling, s.firstEnd)...)
		pressure = append(pressure, between(run.At, run.Pressure, s.start+settling, s.firstEnd)...)
		memory = append(memory, between(run.At, run.Memory, s.start+settling, s.firstEnd)...)
		jobs += len(s.jobs)
		spent += s.lastEnd - s.start
		for _, j := range s.jobs {
			took := j.End - j.Start
			l.completion += took
			l.fastest, l.slowest = min(l.fastest, took), max(l.slowest, took)
		}
	}
	l.completion /= float64(jobs)
	l.perSecond = float64(jobs) / spent
	l.utilisation, l.pressure, l.memory = mean(utilisation), mean(pressure), mean(memory)
	l.half = (l.utilisation + l.pressure) / 2
	return l
}

// batch is a group of jobs that start together.
type batch struct {
	start, firstEnd, lastEnd float64
	jobs                     []job
}

func batches(run measuredRun) []batch {
	var all []batch
	for _, j := range run.Jobs {
		for len(all) <= j.Batch && len(all) < len(run.Jobs) {
			all = append(all, batch{start: math.Inf(1), firstEnd: math.Inf(1)})
		}
		if j.Batch < 0 || j.Batch >= len(all) {
			continue // not of this recorder
		}
		b := &all[j.Batch]
		b.start, b.firstEnd, b.lastEnd = min(b.start, j.Start), min(b.firstEnd, j.End), max(b.lastEnd, j.End)
		b.jobs = append(b.jobs, j)
	}
	return all
}

// curve is one value of the levels against the number of workers.
func curve(all []level, value func(level) report.Point) []report.Point {
	var points []report.Point
	for _, l := range all {
		p := value(l)
		p.X = float64(l.n)
		points = append(points, p)
	}
	return points
}

var (
	ofUtilisation = func(l level) report.Point { return report.Point{Y: l.utilisation} }
	ofPressure    = func(l level) report.Point { return report.Point{Y: l.pressure} }
	ofHalf        = func(l level) report.Point { return report.Point{Y: l.half} }
)

func at(all []level, n int) level {
	for _, l := range all {
		if l.n == n {
			return l
		}
	}
	return all[len(all)-1]
}

// overTime is figure 4.3.
func overTime(r recording) outcome {
	all := levels(r, "pi")
	x := report.Axis{Label: "seconds", Whole: true, Min: 0, Max: 10}
	cpu := report.Panel{Title: "CPU utilisation, batches of π to 2000 digits", X: x, Y: share}
	memory := report.Panel{Title: "memory in use", X: x, Y: report.Axis{Label: "share", Min: 0, Max: .3}}
	for _, run := range runs(r, "pi") {
		switch run.Workers {
		case 1, 2, 4, 12:
		default:
			continue
		}
		name := fmt.Sprintf("%d at once", run.Workers)
		cpu.Series = append(cpu.Series, report.Series{Name: name, Points: line(run.At, run.Utilisation)})
		memory.Series = append(memory.Series, report.Series{Name: name, Points: line(run.At, run.Memory)})
	}
	one, last := at(all, 1), all[len(all)-1]
	spread := 0.
	for _, l := range all {
		spread = max(spread, math.Abs(l.memory-one.memory))
	}
	result := outcome{
		panels: []report.Panel{cpu, memory}, verdict: fails,
		measured: fmt.Sprintf("While all of a batch run, utilisation is %.2f at one worker, %.2f at two and %.2f at %d, on %d cores; memory in use moves by %.3f at most.",
			one.utilisation, at(all, 2).utilisation, last.utilisation, last.n, r.Machine.Cores, spread),
		values: []value{
			{"utilisation_1", one.utilisation, "1"}, {"utilisation_2", at(all, 2).utilisation, "1"},
			{"utilisation_most", last.utilisation, "1"}, {"memory_change", spread, "1"},
		},
	}
	if last.utilisation > one.utilisation && spread < .02 {
		result.verdict = holds
	}
	return result
}

// completion is figure 4.4, and those of the first draft.
func completion(r recording) outcome {
	took := report.Panel{Title: "mean completion time (bars: fastest and slowest)", X: workers, Y: report.Axis{Label: "seconds"}}
	rate := report.Panel{Title: "throughput", X: workers, Y: report.Axis{Label: "completions/s"}}
	cpu := report.Panel{Title: "utilisation and pressure", X: workers, Y: share}
	result := outcome{verdict: holds}
	linear := true
	for i, load := range []string{"pi", "train"} {
		all := levels(r, load)
		name := []string{"π to 2000 digits", "train and infer"}[i]
		took.Series = append(took.Series, report.Series{Name: name, Style: report.Dotted, Points: curve(all, func(l level) report.Point {
			return report.Point{Y: l.completion, Low: l.fastest, High: l.slowest}
		})})
		rate.Series = append(rate.Series, report.Series{Name: name, Style: report.Dotted, Points: curve(all, func(l level) report.Point { return report.Point{Y: l.perSecond} })})
		cpu.Series = append(cpu.Series,
			report.Series{Name: name + ": utilisation", Style: report.Dotted, Points: curve(all, ofUtilisation)},
			report.Series{Name: name + ": pressure", Style: report.Dotted, Points: curve(all, ofPressure)})
		cores := r.Machine.Cores
		full, last := at(all, cores), all[len(all)-1]
		if i == 0 {
			took.Series = append(took.Series, report.Series{Name: "fair share of the cores", Style: report.Dashed, Points: curve(all, func(l level) report.Point {
				return report.Point{Y: full.completion * max(1, float64(l.n)/float64(cores))}
			})})
		}
		grows := last.completion / full.completion / (float64(last.n) / float64(cores))
		gain := last.perSecond / full.perSecond
		linear = linear && math.Abs(grows-1) < .15
		result.measured += fmt.Sprintf("%s: from %d workers, at a utilisation of %.2f, to %d the completion time grows %.2f times as much as the number of workers and the throughput %.2f-fold (from %.2f to %.2f/s). ",
			name, cores, full.utilisation, last.n, grows, gain, full.perSecond, last.perSecond)
		result.values = append(result.values,
			value{load + "_completion_over_linear", grows, "1"}, value{load + "_throughput_gain", gain, "1"},
			value{load + "_solo", at(all, 1).completion, "s"})
		if gain < 1.1 {
			result.verdict = partly
		}
	}
	if !linear {
		result.verdict = fails
	}
	result.measured += "The work is done as fast at one worker a core as at six: what utilisation hides is how long each waits, which pressure does not hide."
	result.panels = []report.Panel{took, rate, cpu}
	return result
}

// joined is figure 4.5.
func joined(r recording) outcome {
	result := outcome{verdict: holds}
	cores := r.Machine.Cores
	for i, load := range []string{"pi", "train", "busy"} {
		all := levels(r, load)
		name := []string{"π to 2000 digits", "train and infer", "busy loops"}[i]
		result.panels = append(result.panels, report.Panel{Title: name, X: workers, Y: share, Series: []report.Series{
			{Name: "utilisation", Style: report.Dotted, Points: curve(all, ofUtilisation)},
			{Name: "pressure", Style: report.Dotted, Points: curve(all, ofPressure)},
			{Name: "half of each", Style: report.Dotted, Points: curve(all, ofHalf)},
		}})
		one, full, over, twice := at(all, 1), at(all, cores), at(all, cores+1), at(all, 2*cores)
		result.measured += fmt.Sprintf("%s: pressure is %.2f at %d workers, %.2f at %d and %.2f at %d; half of each is %.2f at one, then %.2f, %.2f and %.2f. ",
			name, full.pressure, full.n, over.pressure, over.n, twice.pressure, twice.n, one.half, full.half, over.half, twice.half)
		for _, l := range []level{one, full, over, twice} {
			result.values = append(result.values,
				value{fmt.Sprintf("%s_pressure_%d", load, l.n), l.pressure, "1"},
				value{fmt.Sprintf("%s_half_%d", load, l.n), l.half, "1"})
		}
		steady := one.half < full.half && full.half < over.half && over.half < twice.half
		if full.pressure > .2 || !steady || twice.half < .95 {
			result.verdict = fails
		}
	}
	result.measured += fmt.Sprintf("On %d cores the mean is full at twice as many workers, not at the first that waits: the kernel counts waiting per core, and one waiting thread is on one core's queue. Beyond that it tells no more.", cores)
	return result
}
