package figures

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// smoother is a filter under its name. begin returns a fresh one, as a function that takes sample
// after sample and returns the level.
type smoother struct {
	name  string
	begin func() thesis.Filter
}

// smoothers returns the dynamic EMA and its baselines, each by its defaults, and a plain average that
// leaks as little.
func smoothers() []smoother {
	return []smoother{
		{"dynamic EMA", dynamic},
		{"EMA, a = .3", func() thesis.Filter { return thesis.EMA(.3) }},
		{"EMA, a = .05", func() thesis.Filter { return thesis.EMA(.05) }},
		{"median and EMA", func() thesis.Filter { return thesis.MedianEMA(9, .8) }},
		{"One Euro", func() thesis.Filter { return thesis.OneEuro(10, .682, 1, 1) }},
	}
}

// dynamic returns the agent's filter. Samples of a recording are shares, none of which it refuses.
func dynamic() thesis.Filter {
	var f filter.Dynamic
	var s filter.State
	return func(x float64) float64 {
		s, _ = f.Step(s, x)
		return f.Level(s)
	}
}

// apply smooths the samples with a fresh filter.
func (s smoother) apply(samples []float64) []float64 {
	f, levels := s.begin(), make([]float64, len(samples))
	for i, x := range samples {
		levels[i] = f(x)
	}
	return levels
}

// start is the first moment of a run's only pod.
func start(run measuredRun, name string) (float64, bool) {
	for _, m := range run.Marks {
		if m.Name == name {
			return m.At, true
		}
	}
	return 0, false
}

const (
	sampling = .1 // the agent's period in seconds
	phases   = 10 // at which it may fall on a recording at 100 Hz
)

// filters is figure 4.6.
func filters(r recording) outcome {
	all := smoothers()
	result := outcome{source: " Recorded at 100 Hz and averaged over spans of 100 ms, as sampling at 10 Hz does."}
	for _, load := range []string{"idle", "busy"} {
		result.panels = append(result.panels, smoothed(calm(r, load)[0], load, all))
	}
	judged := judgeFilters(r, all)
	best := judged[0]
	for i, j := range judged {
		result.measured += fmt.Sprintf("%s leaks %.0f %% of the spike and takes %.1f s to 90 %% of the level. ", all[i].name, 100*j.leak, j.delay)
		name := metricName(all[i].name)
		result.values = append(result.values, value{name + "_leak", j.leak, "1"}, value{name + "_delay", j.delay, "s"})
	}
	result.measured = fmt.Sprintf("Means over %d starts of a pod that sleeps, for the leak, and %d of one that computes, for the delay, each at %d phases of the sampling. ",
		judged[0].spikes, judged[0].steps, phases) + result.measured
	result.verdict = holds
	for _, j := range judged[1:] {
		switch {
		case j.leak <= best.leak && j.delay <= best.delay:
			result.verdict = fails
		case j.leak < best.leak && j.delay < best.delay+2*sampling && result.verdict == holds:
			result.verdict = partly // a little later, it does better
		}
	}
	if result.verdict == partly {
		result.measured += "A median does better on a spike that comes alone, and a little later; in a burst of spikes, such as the start of several pods, its window fills."
	}
	return result
}

func smoothed(run measuredRun, load string, all []smoother) report.Panel {
	title := map[string]string{
		"idle": "cpu channel: start and end of a container that sleeps",
		"busy": "cpu channel: start and end of a container that keeps one core busy",
	}[load]
	times, raw := resample(run.At, half(run), run.At[0]+sampling, sampling)
	panel := report.Panel{Title: title, X: report.Axis{Label: "seconds", Whole: true, Min: .5, Max: 4.5}, Y: report.Axis{Label: "share"},
		Series: []report.Series{{Name: "as sampled", Style: report.Steps, Points: line(times, raw)}}}
	for _, s := range all {
		panel.Series = append(panel.Series, report.Series{Name: s.name, Points: line(times, s.apply(raw))})
	}
	panel.Marks = marks(run, func(m mark) (string, bool) {
		switch m.Name {
		case "pod cgroup":
			return "pod's cgroup appears", true
		case "exited":
			return "container exits", true
		}
		return "", false
	})
	return panel
}

// judgement is how a filter does: the share of a start's spike that it lets
// through, and the seconds it takes to 90 % of a level that lasts.
type judgement struct {
	leak, delay   float64
	spikes, steps int
}

func judgeFilters(r recording, all []smoother) (list []judgement) {
	idle, busy := calm(r, "idle"), calm(r, "busy")
	for _, s := range all {
		leaks, delays := atPhases(idle, s, leak), atPhases(busy, s, delay)
		list = append(list, judgement{mean(leaks), mean(delays), len(idle), len(busy)})
	}
	return list
}

// filtered is a run as the agent samples it, and as a filter passes it on.
type filtered struct {
	measuredRun
	times, raw, out []float64
}

// atPhases are what is found in the runs at all phases of the sampling, where it is.
func atPhases(runs []measuredRun, s smoother, find func(filtered) (float64, bool)) (found []float64) {
	for phase := range phases {
		for _, run := range runs {
			f := filtered{measuredRun: run}
			f.times, f.raw = resample(run.At, half(run), run.At[0]+sampling+float64(phase)*sampling/phases, sampling)
			f.out = s.apply(f.raw)
			if v, ok := find(f); ok {
				found = append(found, v)
			}
		}
	}
	return found
}

// leak is the rise of the filtered channel within a second of a start over that of the samples.
func leak(f filtered) (float64, bool) {
	begin, ok := start(f.measuredRun, "pod cgroup")
	base := median(between(f.times, f.raw, 0, begin))
	rise := most(between(f.times, f.raw, begin, begin+1)) - base
	return (most(between(f.times, f.out, begin, begin+1)) - base) / rise, ok && rise > .05
}

// delay is the time from the container's start until the filtered channel has taken 90 % of the way
// to its level.
func delay(f filtered) (float64, bool) {
	begin, ok := start(f.measuredRun, "started")
	end, done := start(f.measuredRun, "exited")
	base := median(between(f.times, f.raw, 0, begin-.5))
	level := median(between(f.times, f.raw, begin+.5, end))
	for i, t := range f.times {
		if t > begin && f.out[i] >= base+.9*(level-base) {
			return t - begin, ok && done
		}
	}
	return max(end-begin, 0), ok && done
}
