package figures

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
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

// recording reads one by its name.
func (p Params) recording(name string) (recording, error) {
	files := p.Data
	if files == nil {
		sub, err := fs.Sub(recordings, "data")
		if err != nil {
			return recording{}, err
		}
		files = sub
	}
	file, err := files.Open(name)
	if err != nil {
		return recording{}, err
	}
	defer file.Close()
	r, err := readRecording(file)
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// ofRecording makes a figure of a recording, which draw may say more of than that it is the source.
func ofRecording(name string, draw func(recording) (outcome, error)) func(context.Context, Params) (outcome, error) {
	return func(_ context.Context, p Params) (outcome, error) {
		r, err := p.recording(name)
		if err != nil {
			return outcome{}, err
		}
		result, err := draw(r)
		result.source = recorded(r, name) + result.source
		return result, err
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

// ErrNoRun is wrapped where a recording has no run of a load that a figure needs.
var ErrNoRun = errors.New("the recording has no run of load")

func noRun(load string) error { return fmt.Errorf("%w %s", ErrNoRun, load) }

// runs are those of a load, in order; at least one.
func runs(r recording, load string) ([]measuredRun, error) {
	var list []measuredRun
	for _, run := range r.Runs {
		if run.Load == load && len(run.At) > 1 {
			list = append(list, run)
		}
	}
	if len(list) == 0 {
		return nil, noRun(load)
	}
	return list, nil
}

// calm are the runs of a load that began and ended on an idle machine: other
// work would be taken for the pod's. There is at least one.
func calm(r recording, load string) ([]measuredRun, error) {
	const ahead, behind, idle = .9, .5, .08
	list, err := runs(r, load)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(run measuredRun) bool {
		cpu, end := half(run), run.At[len(run.At)-1]
		before, after := between(run.At, cpu, 0, ahead), between(run.At, cpu, end-behind, end)
		return len(before) == 0 || mean(before) > idle || mean(after) > idle
	})
	if len(list) == 0 {
		return nil, noRun(load + " on an idle machine")
	}
	return list, nil
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
	if len(at) < 2 {
		return nil, nil
	}
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
