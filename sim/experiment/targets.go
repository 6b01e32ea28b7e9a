package experiment

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Verdict is a target held against what was measured.
type Verdict struct {
	Experiment string
	// Claim says what should hold, Measured what was found with its interval.
	Claim    string
	Measured Interval
	Holds    bool
}

// against says what a target's measure is.
type against int

const (
	ratioToDefault against = iota
	ratioToQueue
	ratioToIdle
	worstValue  // the largest of all seeds
	ratioToBest // of the mean to the best of all other schedulers that place pods
)

type target struct {
	applies func(Case) bool
	metric  string
	against against
	atLeast bool
	bound   float64
}

func named(name string) func(Case) bool {
	return func(c Case) bool { return c.Experiment.Name == name }
}

// batch limits a target of B1 to a range of work and a law.
func batch(low, high float64, laws ...workload.Law) func(Case) bool {
	return func(c Case) bool {
		in := false
		for _, l := range laws {
			in = in || c.Params.Law == l
		}
		return c.Experiment.Name == "b1" && c.Params.Work >= low && c.Params.Work <= high && in
	}
}

// steady limits a target of B2 to loads and a work.
func steady(load, work float64) func(Case) bool {
	return func(c Case) bool {
		return c.Experiment.Name == "b2" && c.Params.Load <= load && c.Params.Work == work
	}
}

func long(c Case) bool {
	return (c.Experiment.Name == "b1" || c.Experiment.Name == "b2") && c.Params.Work >= 10
}

var endless = math.Inf(1)

// targets are what Spazio should reach.
var targets = []target{
	{batch(10, endless, workload.Equal), "useful_share", ratioToDefault, true, .96},
	{batch(10, endless, workload.Equal), "run_mean", ratioToDefault, false, .12},
	{batch(10, endless, workload.Equal), "sojourn_mean", ratioToDefault, false, .65},
	{batch(10, endless, workload.Equal), "makespan", ratioToDefault, false, 1.15},
	{batch(10, endless, workload.Exponential), "run_mean", ratioToDefault, false, .2},
	{batch(10, endless, workload.Exponential), "sojourn_mean", ratioToDefault, false, .9},
	{batch(10, endless, workload.Exponential), "makespan", ratioToDefault, false, 1},
	{batch(1, 1, workload.Equal, workload.Exponential), "useful_share", ratioToDefault, true, .85},
	{batch(1, 1, workload.Equal, workload.Exponential), "run_mean", ratioToDefault, false, .3},
	{batch(.1, .1, workload.Equal, workload.Exponential), "makespan", ratioToDefault, false, 1.15},
	{steady(.8, 10), "slowdown_p99", ratioToDefault, false, 1.1},
	{steady(.8, 10), "sojourn_mean", ratioToDefault, false, 1.05},
	{steady(.5, 1), "sojourn_mean", ratioToDefault, false, 1.5},
	{named("b3"), "makespan", ratioToDefault, false, .4},
	{named("b3"), "memory_overload", ratioToDefault, false, .05},
	{long, "most_pods_per_core", worstValue, false, 3},
	{named("s1"), "server_p99", ratioToIdle, false, 1.2},
	{named("s1"), "useful_share", ratioToDefault, true, .9},
	{named("h1"), "slowdown_p99", ratioToBest, false, 1},
	{named("w1"), "slowdown_p99", ratioToBest, false, 1},
	{batch(10, endless, workload.Exponential), "sojourn_mean", ratioToQueue, false, 1.05},
}

// Judge holds the targets of the cases against the rows of a scheduler. A target
// whose schedulers were not run is left out.
func Judge(cases []Case, rows []Row, scheduler string) []Verdict {
	var verdicts []Verdict
	lines := map[against][]Line{
		ratioToDefault: Ratios(rows, Default),
		ratioToQueue:   Ratios(rows, CentralQueue),
		ratioToIdle:    Ratios(rows, Idle),
		worstValue:     Summarise(rows),
	}
	for _, c := range cases {
		for _, t := range targets {
			if !t.applies(c) {
				continue
			}
			i, ok := t.measure(lines, c.Label, scheduler)
			if !ok {
				continue
			}
			holds := i.Mean <= t.bound
			if t.atLeast {
				holds = i.Mean >= t.bound
			}
			verdicts = append(verdicts, Verdict{c.Label, t.claim(), i, holds})
		}
	}
	return verdicts
}

func (t target) measure(lines map[against][]Line, label, scheduler string) (Interval, bool) {
	if t.against == ratioToBest {
		return best(lines[worstValue], label, t.metric, scheduler)
	}
	for _, l := range lines[t.against] {
		if l.Experiment != label || l.Scheduler != scheduler || l.Metric != t.metric {
			continue
		}
		if t.against == worstValue {
			worst := 0.
			for _, v := range l.Values {
				worst = math.Max(worst, v)
			}
			return Interval{Mean: worst, Low: math.NaN(), High: math.NaN(), N: l.N}, true
		}
		return l.Interval, true
	}
	return Interval{}, false
}

// best is the ratio of the scheduler's mean to the least of the others'.
func best(lines []Line, label, metric, scheduler string) (Interval, bool) {
	own, least := math.NaN(), math.Inf(1)
	n := 0
	for _, l := range lines {
		switch {
		case l.Experiment != label || l.Metric != metric:
		case l.Scheduler == scheduler:
			own, n = l.Mean, l.N
		case other(l.Scheduler):
			least = math.Min(least, l.Mean)
		}
	}
	if math.IsNaN(own) || math.IsInf(least, 1) {
		return Interval{}, false
	}
	return Interval{Mean: own / least, Low: math.NaN(), High: math.NaN(), N: n}, true
}

func (t target) claim() string {
	of := map[against]string{
		ratioToDefault: "/default", ratioToQueue: "/central-queue", ratioToIdle: "/idle",
		worstValue: " of any seed", ratioToBest: "/best of the others",
	}[t.against]
	sign := "≤"
	if t.atLeast {
		sign = "≥"
	}
	return fmt.Sprintf("%s%s %s %g", t.metric, of, sign, t.bound)
}
