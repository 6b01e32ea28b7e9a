package figures

import (
	"fmt"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// source is a source of pod events, with the mark of its first event.
type source struct{ mark, name string }

// occasion is a start or an end of pods.
type occasion struct {
	what, zero string
	// begin is the mark that it begins with; sources may tell lead seconds ahead.
	begin string
	lead  float64
	// The API server learns of a pod from its kubelet, and that from the runtime: no watch can be
	// earlier than the mark earliest, which bound describes.
	earliest, bound string
}

var (
	starting = occasion{"start of a pod", "from the making of the pod's cgroup", "pod cgroup", .01, "started",
		"the moment at which the runtime reports that the container runs; a kubelet must notice and write its status first"}
	stopping = occasion{"end of a pod", "from the exit of the container's process", "exited", .02, "exited",
		"the exit itself; how much later a watch reports it is not measured"}
)

func (o occasion) sources() []source {
	return []source{{"cgroup event", "cgroups"}, {"containerd event", "containerd"}, {o.earliest, "API at the earliest"}}
}

// sight is what one start or end of a pod looks like, in seconds from its first
// act.
type sight struct {
	run        measuredRun
	zero       float64
	first      []float64 // a source each
	peak, over float64   // the spike's
}

// look finds the spike of the span that begins with a mark, and the sources' first
// words in it.
func (o occasion) look(run measuredRun) (sight, bool) {
	zero, ok := start(run, o.begin)
	if !ok {
		return sight{}, false
	}
	s := sight{run: run, zero: zero}
	for _, source := range o.sources() {
		i := slices.IndexFunc(run.Marks, func(m mark) bool { return m.Name == source.mark && m.At >= zero-o.lead })
		if i < 0 {
			return s, false
		}
		s.first = append(s.first, run.Marks[i].At-zero)
	}
	load := half(run)
	base := median(between(run.At, load, 0, .9))
	height := 0.
	for i, t := range run.At {
		if t > zero-o.lead && t < zero+.8 && load[i]-base > height {
			height, s.peak = load[i]-base, t-zero
		}
	}
	for i, t := range run.At {
		if t > zero && t < zero+.8 && load[i]-base > height/2 {
			s.over = t - zero
		}
	}
	return s, height > .05
}

// draw is figures 4.9 and 4.10: the sources against the spike.
func (o occasion) draw(r recording) outcome {
	var all []sight
	for _, run := range calm(r, "idle") {
		if s, ok := o.look(run); ok {
			all = append(all, s)
		}
	}
	result := o.against(all)
	result.source = " The recorder plays the kubelet, so the API server's part is a lower bound, " + o.bound + "."
	return result
}

func (o occasion) against(all []sight) outcome {
	sources := o.sources()
	x := report.Axis{Label: "seconds " + o.zero, Min: -.3, Max: 1}
	picture := report.Panel{Title: "cpu channel at 100 Hz, every " + o.what + " (the first in bold)", X: x, Y: share}
	for i := len(all) - 1; i >= 0; i-- {
		style, name := report.Faint, "cpu, others"
		if i == 0 {
			style, name = report.Line, "cpu"
		}
		picture.Series = append(picture.Series, report.Series{Name: name, Style: style, Points: shifted(all[i])})
	}
	names := make([]string, len(sources))
	firstReports := report.Panel{Title: "first word of each source", X: x, Y: report.Axis{Min: -.5, Max: float64(len(sources)) - .5}}
	var peaks, overs []float64
	for _, s := range all {
		peaks, overs = append(peaks, s.peak), append(overs, s.over)
	}
	result := outcome{}
	var medians []float64
	for i, source := range sources {
		names[i] = source.name
		var delays []float64
		series := report.Series{Name: source.name, Style: report.Dots}
		for _, s := range all {
			delays = append(delays, s.first[i])
			series.Points = append(series.Points, report.Point{X: s.first[i], Y: float64(i)})
		}
		m := median(delays)
		medians = append(medians, m)
		firstReports.Series = append(firstReports.Series, series)
		picture.Marks = append(picture.Marks, report.Mark{Name: source.name, X: all[0].first[i]})
		result.measured += fmt.Sprintf("%s: %+.0f ms (%+.0f to %+.0f). ", source.name, 1000*m, 1000*quantile(delays, 0), 1000*quantile(delays, 1))
		result.values = append(result.values, value{metricName(source.name), m, "s"})
	}
	firstReports.Y.Names = names
	peak, over := median(peaks), median(overs)
	result.measured = fmt.Sprintf("Medians of %d, %s, with the extremes: ", len(all), o.zero) + result.measured +
		fmt.Sprintf("The spike peaks at %+.0f ms and is above half its height until %+.0f ms.", 1000*peak, 1000*over)
	result.values = append(result.values, value{"peak", peak, "s"}, value{"over", over, "s"})
	result.panels = []report.Panel{picture, firstReports}
	last := len(sources) - 1
	switch early := medians[0] < peak && medians[1] < over; {
	case early && medians[last] > over:
		result.verdict = holds
	case early: // a lower bound within the spike decides nothing
		result.verdict = partly
	default:
		result.verdict = fails
	}
	return result
}

func shifted(s sight) []report.Point {
	points := line(s.run.At, half(s.run))
	for i := range points {
		points[i].X -= s.zero
	}
	return points
}
