package figures

import (
	"context"
	"fmt"

	"github.com/spazio-scheduler/spazio/sim/report/chart"
	"github.com/spazio-scheduler/spazio/sim/report/figures/measured"
)

// source is one that tells of a pod, by the mark that its first word is.
type source struct{ mark, name string }

// The API server hears of a pod's start from its kubelet, which hears of it from
// the runtime: no watch can be earlier than that.
var (
	startSources = []source{
		{"cgroup event", "cgroups"}, {"containerd event", "containerd"}, {"started", "API at the earliest"},
	}
	endSources = []source{
		{"cgroup event", "cgroups"}, {"containerd event", "containerd"}, {"exited", "API at the earliest"},
	}
)

// sight is what one start or end of a pod looks like, in seconds from its first
// act.
type sight struct {
	run        measured.Run
	zero       float64
	first      []float64 // a source each
	peak, over float64   // the spike's
}

// look finds the spike of the span that begins with a mark, and the sources' first
// words in it.
func look(run measured.Run, begin string, lead float64, sources []source) (sight, bool) {
	zero, ok := start(run, begin)
	if !ok {
		return sight{}, false
	}
	s := sight{run: run, zero: zero}
	for _, source := range sources {
		found := false
		for _, m := range run.Marks {
			if m.Name == source.mark && m.At >= zero-lead {
				s.first, found = append(s.first, m.At-zero), true
				break
			}
		}
		if !found {
			return s, false
		}
	}
	load := half(run)
	base := median(between(run.At, load, 0, .9))
	height := 0.
	for i, t := range run.At {
		if t > zero-lead && t < zero+.8 && load[i]-base > height {
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

func sights(p Params, begin string, lead float64, sources []source) (measured.Recording, []sight, error) {
	r, err := p.recording(podsFile)
	if err != nil {
		return r, nil, err
	}
	list, err := calm(r, "idle")
	if err != nil {
		return r, nil, err
	}
	var all []sight
	for _, run := range list {
		if s, ok := look(run, begin, lead, sources); ok {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return r, nil, &NoRunError{"idle with marks"}
	}
	return r, all, nil
}

// creation is figure 4.9.
func creation(_ context.Context, p Params) (Result, error) {
	r, all, err := sights(p, "pod cgroup", .01, startSources)
	if err != nil {
		return Result{}, err
	}
	result := against(all, startSources, "start of a pod", "from the making of the pod's cgroup")
	result.Source = recorded(r, podsFile) + " The recorder plays the kubelet, so the API server's part is a lower bound, the moment at which the runtime says that the container runs; a kubelet must notice and write its status first."
	return result, nil
}

// ending is figure 4.10.
func ending(_ context.Context, p Params) (Result, error) {
	r, all, err := sights(p, "exited", .02, endSources)
	if err != nil {
		return Result{}, err
	}
	result := against(all, endSources, "end of a pod", "from the exit of the container's process")
	result.Source = recorded(r, podsFile) + " The recorder plays the kubelet, so the API server's part is a lower bound, the exit itself; how much later a watch tells is not measured."
	return result, nil
}

// against holds the sources against the spike.
func against(all []sight, sources []source, what, zero string) Result {
	x := chart.Axis{Label: "seconds " + zero, Min: -.3, Max: 1}
	picture := chart.Panel{Title: "cpu channel at 100 Hz, every " + what + " (the first in bold)", X: x, Y: share}
	for i := len(all) - 1; i >= 0; i-- {
		style, name := chart.Faint, "cpu, others"
		if i == 0 {
			style, name = chart.Line, "cpu"
		}
		picture.Series = append(picture.Series, chart.Series{Name: name, Style: style, Points: shifted(all[i])})
	}
	names := make([]string, len(sources))
	told := chart.Panel{Title: "first word of each source", X: x, Y: chart.Axis{Min: -.5, Max: float64(len(sources)) - .5}}
	var peaks, overs []float64
	for _, s := range all {
		peaks, overs = append(peaks, s.peak), append(overs, s.over)
	}
	result := Result{}
	var medians []float64
	for i, source := range sources {
		names[i] = source.name
		var delays []float64
		series := chart.Series{Name: source.name, Style: chart.Dots}
		for _, s := range all {
			delays = append(delays, s.first[i])
			series.Points = append(series.Points, chart.Point{X: s.first[i], Y: float64(i)})
		}
		m := median(delays)
		medians = append(medians, m)
		told.Series = append(told.Series, series)
		picture.Marks = append(picture.Marks, chart.Mark{Name: source.name, X: all[0].first[i]})
		result.Measured += fmt.Sprintf("%s: %+.0f ms (%+.0f to %+.0f). ", source.name, 1000*m, 1000*quantile(delays, 0), 1000*quantile(delays, 1))
		result.Values = append(result.Values, Value{metricName(source.name), m, "s"})
	}
	told.Y.Names = names
	peak, over := median(peaks), median(overs)
	result.Measured = fmt.Sprintf("Medians of %d, %s, with the extremes: ", len(all), zero) + result.Measured +
		fmt.Sprintf("The spike peaks at %+.0f ms and is above half its height until %+.0f ms.", 1000*peak, 1000*over)
	result.Values = append(result.Values, Value{"peak", peak, "s"}, Value{"over", over, "s"})
	result.Panels = []chart.Panel{picture, told}
	last := len(sources) - 1
	switch early := medians[0] < peak && medians[1] < over; {
	case early && medians[last] > over:
		result.Verdict = Holds
	case early: // a lower bound within the spike decides nothing
		result.Verdict = Partly
	default:
		result.Verdict = Fails
	}
	return result
}

func shifted(s sight) []chart.Point {
	points := line(s.run.At, half(s.run))
	for i := range points {
		points[i].X -= s.zero
	}
	return points
}
