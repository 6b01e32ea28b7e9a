package figures

import (
	"compress/gzip"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// recordings are those of the repository.
//
//go:embed data/*.json.gz
var recordings embed.FS

// Names of the recordings.
const (
	sweepFile = "sweep.json.gz"
	podsFile  = "pods.json.gz"
)

// readRecording reads one by its name. Its runs are those that the figures need, for it is a part of this
// package.
func readRecording(name string) (r recording, err error) {
	file, err := recordings.Open("data/" + name)
	if err != nil {
		return r, err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return r, err
	}
	return r, json.NewDecoder(text).Decode(&r)
}

// ofRecording makes a figure of a recording, which draw may say more of than that it is the source.
func ofRecording(name string, draw func(recording) outcome) func(context.Context, uint64) (outcome, error) {
	return func(context.Context, uint64) (outcome, error) {
		r, err := readRecording(name)
		if err != nil {
			return outcome{}, err
		}
		result := draw(r)
		result.source = recorded(r, name) + result.source
		return result, nil
	}
}

// recorded is the source of a figure made of a recording.
func recorded(r recording, name string) string {
	m := r.Machine
	text := fmt.Sprintf("recording: %s, %d cores, %.0f GiB, Linux %s, on %s (%s)", m.CPU, m.Cores, m.Memory/(1<<30), m.Kernel, m.Day, name)
	if m.Runtime != "" {
		text += ", " + m.Runtime
	}
	return text + "."
}

// simulated is the source of a figure made by the simulator with a seed, of the
// cluster or node described.
func simulated(seed uint64, what string) string {
	return fmt.Sprintf("simulator: seed %d, %s.", seed, what)
}

// runs are those of a load, in order.
func runs(r recording, load string) (list []measuredRun) {
	for _, run := range r.Runs {
		if run.Load == load {
			list = append(list, run)
		}
	}
	return list
}

// calm are the runs of a load that began and ended on an idle machine: other
// work would be taken for the pod's.
func calm(r recording, load string) []measuredRun {
	const ahead, behind, idle = .9, .5, .08
	return slices.DeleteFunc(runs(r, load), func(run measuredRun) bool {
		cpu, end := half(run), run.At[len(run.At)-1]
		before, after := between(run.At, cpu, 0, ahead), between(run.At, cpu, end-behind, end)
		return len(before) == 0 || mean(before) > idle || mean(after) > idle
	})
}

// half joins utilisation and pressure as the cpu channel does.
func half(run measuredRun) []float64 {
	out := make([]float64, len(run.At))
	for i := range out {
		out[i] = (run.Utilisation[i] + run.Pressure[i]) / 2
	}
	return out
}

// line pairs times with values.
func line(at, values []float64) []report.Point {
	points := make([]report.Point, len(at))
	for i := range points {
		points[i] = report.Point{X: at[i], Y: values[i]}
	}
	return points
}

// between is the part of values whose time is in (from, to].
func between(at, values []float64, from, to float64) []float64 {
	var out []float64
	for i, t := range at {
		if t > from && t <= to {
			out = append(out, values[i])
		}
	}
	return out
}

// resample averages values over spans of the given period, of which the first
// ends at the given time: what a slower sampling of the same counters shows.
func resample(at, values []float64, first, period float64) (times, means []float64) {
	begin := at[0] - (at[1] - at[0])
	for end := first; end <= at[len(at)-1]; end += period {
		if end-period < begin {
			continue
		}
		sum, last := 0., begin
		for i, t := range at {
			sum += values[i] * max(0, min(t, end)-max(last, end-period))
			last = t
		}
		times, means = append(times, end), append(means, sum/period)
	}
	return times, means
}

func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// quantile is by the nearest rank.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func median(values []float64) float64 { return quantile(values, .5) }

// most is the largest value, 0 of none.
func most(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Max(values)
}
