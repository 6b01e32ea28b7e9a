package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// result is what a run found. Its JSON names are for scripts.
type result struct {
	// Cores are the made-up machine's, of all packages; Shape and Noise its power's.
	Cores int     `json:"cores"`
	Pods  int     `json:"pods"`
	Shape float64 `json:"shape"`
	Noise float64 `json:"noise"`
	Runs  int     `json:"runs"`
	// Virtual says that processes were simulated.
	Virtual bool `json:"virtual"`
	// Interval is that in which pods were charged, in seconds.
	Interval float64 `json:"interval_seconds"`
	Loads    []row   `json:"loads"`
}

// row is one load. Load, Reached, errors and deviations are in per cent.
type row struct {
	Load    int     `json:"load"`
	Reached float64 `json:"reached"`
	// Joules is what the machine took by its counters.
	Joules    float64 `json:"joules"`
	Truth     float64 `json:"truth_joules"`
	NodeError float64 `json:"node_error"`
	// PodError is that of the pod charged most wrongly over the whole run.
	PodError float64 `json:"pod_error_worst"`
	// Inside counts those of Intervals, of all pods, in which the truth is within two
	// standard deviations. SD is the deviation and RMS the error of an interval's
	// joules, by root mean squares.
	Intervals int     `json:"pod_intervals"`
	Inside    int     `json:"inside"`
	SD        float64 `json:"sd"`
	RMS       float64 `json:"rms_error"`
	// Ratio is that of an interval's error to its deviation, by root mean square: 1 where
	// the deviation is what it says.
	Ratio float64 `json:"error_by_sd"`
	// Causes are the parts of the error, each by root mean square.
	Causes causes `json:"causes"`
	// Refused counts readings that made no interval.
	Refused int `json:"refused"`
}

func newResult(o options, s *site) result {
	return result{Cores: sockets * s.cores, Pods: o.pods, Shape: o.shape, Noise: o.noise, Runs: o.runs, Virtual: o.virtual, Interval: o.interval.Seconds()}
}

// The bars: errors in per cent, the part of intervals that two deviations hold, how many
// that takes to be shown, and how far a load may be from what was asked for, as a part.
const (
	barNode      = .5
	barPod       = 5
	barInside    = .9
	barIntervals = 200
	barReached   = .1
)

// missed returns an error for each bar that is.
func (r result) missed() (missed []error) {
	for _, row := range r.Loads {
		miss := func(ok bool, format string, args ...any) {
			if !ok {
				missed = append(missed, fmt.Errorf("%d %%: %s", row.Load, fmt.Sprintf(format, args...)))
			}
		}
		miss(math.Abs(row.Reached/float64(row.Load)-1) <= barReached, "the processes took %.1f %% of the machine, which must be quiet", row.Reached)
		miss(row.NodeError <= barNode, "the node's joules are off by %.2f %%, and may be by %g", row.NodeError, barNode)
		miss(row.PodError <= barPod, "a pod's joules are off by %.2f %%, and may be by %d", row.PodError, barPod)
		miss(float64(row.Inside) >= barInside*float64(row.Intervals),
			"the truth is inside two deviations in %d of %d intervals, and should be in %g", row.Inside, row.Intervals, barInside)
		miss(row.Intervals >= barIntervals, "%d intervals of pods show too little: %d would do", row.Intervals, barIntervals)
	}
	return missed
}

func (r result) write(w io.Writer, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	kind := "real"
	if r.Virtual {
		kind = "simulated"
	}
	fmt.Fprintf(w, "simulated counters over %s CPU time: %d packages, %d cores, %d to %d W and %d W of memory each, shape %g, noise %g\n",
		kind, sockets, r.Cores, idleWatts, fullWatts, memoryWatts, r.Shape, r.Noise)
	fmt.Fprintf(w, "%d pods, charged each %g s, runs: %d\n\n", r.Pods, r.Interval, r.Runs)
	fmt.Fprintf(w, "%6s %8s %9s %9s %7s %7s %12s %6s %6s %5s %7s  %s\n",
		"load", "reached", "joules", "truth", "node", "worst", "inside 2 SD", "SD", "error", "ratio", "refused", "error by")
	fmt.Fprintf(w, "%6s %8s %9s %9s %7s %7s %12s %6s %6s %5s %7s  %5s %5s %5s %5s\n",
		"%", "%", "", "", "%", "pod %", "", "%", "%", "", "", "count", "idle", "packg", "time")
	for _, row := range r.Loads {
		fmt.Fprintf(w, "%6d %8.1f %9.1f %9.1f %7.3f %7.2f %12s %6.2f %6.2f %5.2f %7d  %5.2f %5.2f %5.2f %5.2f\n",
			row.Load, row.Reached, row.Joules, row.Truth,
			row.NodeError, row.PodError, fmt.Sprintf("%d of %d", row.Inside, row.Intervals), row.SD, row.RMS, row.Ratio, row.Refused,
			row.Causes.Counters, row.Causes.Idle, row.Causes.Packages, row.Causes.Time)
	}
	_, err := fmt.Fprintf(w, "%6s %8s %9s %9s %7.1f %7d %12s\n", "bar", "", "", "", barNode, barPod, fmt.Sprintf("%.0f %%", 100*barInside))
	return err
}
