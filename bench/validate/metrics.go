package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim"
)

// judged are the metrics that must agree.
var judged = []string{"useful_share", "run_mean"}

// shown are those of sim.Summarise that are compared, the judged ones first.
var shown = []string{"useful_share", "run_mean", "run_p95", "slowdown_p99", "makespan", "sojourn_mean", "sojourn_p99"}

// metrics are what is compared: those of sim.Summarise, and what tells where
// time goes between them.
//
//   - bind_mean: from creation to the bind
//   - bind_gap: from one bind to the next, the median
//   - start_extra: from the bind to running, less the pod's own latency, the mean
//   - turnaround: from a pod's end to the next bind to its node, the median
//   - most_bound: the most pods bound to a node at a time
func metrics(r sim.Result) []sim.Metric {
	var all []sim.Metric
	summary := sim.Summarise(r)
	for _, name := range shown {
		if i := slices.IndexFunc(summary, func(m sim.Metric) bool { return m.Name == name }); i >= 0 {
			all = append(all, summary[i])
		}
	}
	var bind, extra float64
	for i, p := range r.Records {
		bind += (p.Bound - r.Pods[i].Created) / float64(len(r.Records))
		extra += (p.Running - p.Bound - r.Pods[i].Startup) / float64(len(r.Records))
	}
	gap, turnaround, most := binds(r.Records)
	return append(all,
		sim.Metric{Name: "bind_mean", Value: bind, Unit: "s"},
		sim.Metric{Name: "bind_gap", Value: gap, Unit: "s"},
		sim.Metric{Name: "start_extra", Value: extra, Unit: "s"},
		sim.Metric{Name: "turnaround", Value: turnaround, Unit: "s"},
		sim.Metric{Name: "most_bound", Value: most, Unit: "pods"})
}

// step is a bind to a node or an end on it.
type step struct {
	at   float64
	node int
	bind bool
}

// binds goes through all binds and ends in order of time.
func binds(records []sim.Record) (gap, turnaround, most float64) {
	var steps []step
	for _, r := range records {
		steps = append(steps, step{r.Bound, r.Node, true}, step{r.Done, r.Node, false})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var gaps, turnarounds []float64
	last := math.NaN()
	ended, bound := map[int]float64{}, map[int]float64{}
	for _, s := range steps {
		if !s.bind {
			bound[s.node]--
			ended[s.node] = s.at
			continue
		}
		if !math.IsNaN(last) {
			gaps = append(gaps, s.at-last)
		}
		last = s.at
		if end, ok := ended[s.node]; ok {
			turnarounds = append(turnarounds, s.at-end)
			delete(ended, s.node)
		}
		bound[s.node]++
		most = math.Max(most, bound[s.node])
	}
	return median(gaps), median(turnarounds), most
}

// median is 0 of nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
