package experiment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// verdict is a target held against what was measured.
type verdict struct {
	Experiment string
	// Claim says what should hold, Measured what was found with its interval.
	Claim    string
	Measured Interval
	Holds    bool
}

// against is the scheduler that a target's measure is a ratio to, or which of them.
type against string

const (
	itself            against = "" // the metric, in its unit
	ratioToDefault    against = Default
	ratioToRequests   against = requestsRight
	ratioToQueue      against = centralQueue
	ratioToIdle       against = Idle
	ratioToPooled     against = pooled
	ratioToUnrelieved against = unrelieved
	// These are ratios of the mean to the best of all other schedulers that place pods, of those that
	// end within timely of the lower bound, and of those whose requests a recommender writes.
	ratioToBest        against = "best of the others"
	ratioToTimely      against = "best of the others within 1.2 × lower-bound"
	ratioToRecommender against = "best recommender"
)

// timely is how much longer than the lower bound a peer may take that does not buy one
// figure with another.
const timely = 1.2

type target struct {
	applies func(Case) bool
	metric  string
	against against
	atLeast bool
	bound   float64
}

// rule limits targets to some of the cases.
type rule func(Case) bool

func in(names ...string) rule {
	return func(c Case) bool { return slices.Contains(names, c.Experiment.Name) }
}

func (r rule) law(l workload.Law) rule {
	return func(c Case) bool { return r(c) && c.Params.law == l }
}

func (r rule) work(low, high float64) rule {
	return func(c Case) bool { return r(c) && c.Params.work >= low && c.Params.work <= high }
}

func (r rule) load(most float64) rule {
	return func(c Case) bool { return r(c) && c.Params.load <= most }
}

// cores limits targets to fleets of nodes of one size.
func (r rule) cores(n int) rule {
	return func(c Case) bool { return r(c) && c.Params.Cores == n }
}

func (r rule) requests(q workload.Requests) rule {
	return func(c Case) bool { return r(c) && c.Params.requests == q }
}

// steady are arrivals that leave room: no scheduler should do harm there.
func steady(c Case) bool {
	return in("arrivals").work(10, 10).load(.8)(c) || in("arrivals").work(1, 1).load(.5)(c)
}

var (
	endless = math.Inf(1)
	long    = in("batch").work(10, endless)
	short   = rule(func(c Case) bool { return in("batch").work(1, 1)(c) || in("batch").work(.1, .1)(c) })
	memory  = in("memory", "mixed-io")
)

// targets are what Spazio should reach, on seeds and halves of traces that nothing was
// tuned on.
var targets = []target{
	{long.law(workload.Equal).cores(4), "run_mean", ratioToDefault, false, .12},
	{long.law(workload.Exponential).cores(4), "run_mean", ratioToDefault, false, .18},
	{long.cores(16), "run_mean", ratioToDefault, false, .25},
	{long.cores(64), "run_mean", ratioToDefault, false, .7},
	{long.law(workload.Equal).cores(4), "sojourn_mean", ratioToDefault, false, .6},
	{long, "sojourn_mean", ratioToDefault, false, 1},
	{long, "useful_share", ratioToDefault, true, .97},
	{long, "sojourn_mean", ratioToRequests, false, 1.02},
	{long, "makespan", ratioToRequests, false, 1},
	{long.law(workload.Exponential), "sojourn_mean", ratioToQueue, false, 1.05},
	{short, "sojourn_mean", ratioToDefault, false, 1.05},
	{short, "makespan", ratioToDefault, false, 1.1},

	{steady, "makespan", ratioToDefault, false, 1.03},
	{steady, "run_mean", ratioToDefault, false, 1.03},
	{steady, "slowdown_p99", ratioToDefault, false, 1.03},
	{steady, "useful_share", ratioToDefault, true, 1 / 1.03},
	{steady, "sojourn_mean", ratioToDefault, false, 1.05},
	{steady, "sojourn_p99", ratioToDefault, false, 1.05},

	{memory, "kills", ratioToDefault, false, .02},
	{memory, "makespan", ratioToDefault, false, 1},
	{memory, "sojourn_mean", ratioToDefault, false, .85},

	{in("servers").requests(workload.RequestNone), "server_p99", ratioToIdle, false, 1.2},
	{in("servers").requests(workload.RequestServers), "server_p99", ratioToIdle, false, 1.05},
	{in("servers"), "useful_share", ratioToDefault, true, .75},

	{in("services"), "server_p99", ratioToIdle, false, 1.2},

	{in("traces"), "sojourn_mean", ratioToRequests, false, .95},
	{in("traces"), "sojourn_mean", ratioToDefault, false, .9},

	{in("overdue"), "wait_max", itself, false, (reserve.OverdueAdmission{}.WithDefaults().MaxWait + time.Minute).Seconds()},
	{in("overdue").cores(4), "resident_slowdown_p99", ratioToIdle, false, 1.05 * (1 + 1./4)},

	{in("background"), "slowdown_p99", ratioToDefault, false, .75},
	{in("background"), "slowdown_p99", ratioToBest, false, 1},
	{in("background"), "sojourn_mean", ratioToDefault, false, .97},

	{in("wrong-requests"), "slowdown_p99", ratioToTimely, false, 1},
}

// Judge holds the targets of the cases against the rows of a scheduler. A target
// whose schedulers were not run is left out.
func Judge(cases []Case, rows []Row, scheduler string) []verdict {
	var verdicts []verdict
	measured := measures{rows: rows, means: Summarise(rows), ratios: map[against][]Line{}}
	for _, c := range cases {
		for _, t := range slices.Concat(targets, profileTargets, energyTargets, reliefTargets) {
			if !t.applies(c) {
				continue
			}
			i, ok := measured.of(t, c.Label, scheduler)
			if !ok {
				continue
			}
			own, _ := interval(measured.means, c.Label, t.metric, scheduler)
			holds := i.atMost(t.bound+tolerance) || own.Mean == 0 // there is no less
			if t.atLeast {
				holds = i.atLeast(t.bound - tolerance)
			}
			verdicts = append(verdicts, verdict{c.Label, t.claim(), i, holds})
		}
	}
	return verdicts
}

// tolerance is for ratios of equals whose logarithms were rounded.
const tolerance = 1e-9

// measures are what targets are held against.
type measures struct {
	rows   []Row
	means  []Line
	ratios map[against][]Line
}

func (m measures) of(t target, label, scheduler string) (Interval, bool) {
	switch t.against {
	case itself:
		return interval(m.means, label, t.metric, scheduler)
	case ratioToBest:
		return best(m.means, label, t.metric, scheduler, func(string) bool { return true })
	case ratioToRecommender:
		name, ok := bestRecommender(m.means, label, t.metric)
		if !ok {
			return Interval{}, false
		}
		return interval(Ratios(m.rows, name), label, t.metric, scheduler)
	case ratioToTimely:
		makespans := map[string]float64{}
		for _, l := range m.means {
			if l.Experiment == label && l.Metric == "makespan" {
				makespans[l.Scheduler] = l.Mean
			}
		}
		bound, ok := makespans[lowerBound]
		if !ok {
			return Interval{}, false
		}
		return best(m.means, label, t.metric, scheduler, func(peer string) bool { return makespans[peer] <= timely*bound })
	}
	if m.ratios[t.against] == nil {
		m.ratios[t.against] = Ratios(m.rows, string(t.against))
	}
	return interval(m.ratios[t.against], label, t.metric, scheduler)
}

func interval(lines []Line, label, metric, scheduler string) (Interval, bool) {
	for _, l := range lines {
		if l.Experiment == label && l.Scheduler == scheduler && l.Metric == metric {
			return l.Interval, true
		}
	}
	return Interval{}, false
}

// best is the ratio of the scheduler's mean to the least of the others' that count.
func best(lines []Line, label, metric, scheduler string, counts func(peer string) bool) (Interval, bool) {
	own, least := Interval{Mean: math.NaN()}, Interval{Mean: math.Inf(1)}
	for _, l := range lines {
		switch {
		case l.Experiment != label || l.Metric != metric:
		case l.Scheduler == scheduler:
			own = l.Interval
		case other(l.Scheduler) && counts(l.Scheduler):
			if l.Mean < least.Mean {
				least = l.Interval
			}
		}
	}
	if math.IsNaN(own.Mean) || math.IsInf(least.Mean, 1) {
		return Interval{}, false
	}
	return Interval{Mean: own.Mean / least.Mean, Low: math.NaN(), High: math.NaN(), N: own.N, Bound: boundOf(own.Bound != "", least.Bound != "")}, true
}

func (t target) claim() string {
	if t.against == itself {
		return fmt.Sprintf("%s ≤ %.4g", t.metric, t.bound)
	}
	sign := "≤"
	if t.atLeast {
		sign = "≥"
	}
	return fmt.Sprintf("%s/%s %s %.3g", t.metric, t.against, sign, t.bound)
}
