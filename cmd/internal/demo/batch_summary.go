package demo

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// timeQuantiles sums up a set of durations, in seconds.
type timeQuantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
}

// batchSummary is how the pods of a batch fared. Times are virtual seconds.
type batchSummary struct {
	// Pods that did their work, and pods that failed.
	Pods   int `json:"pods"`
	Failed int `json:"failed"`
	// Kills is how often a pod was killed and created anew.
	Kills int `json:"kills,omitempty"`
	// Throughput is Pods over Makespan; Makespan is the span from the first
	// submission to the last end.
	Throughput float64 `json:"throughputPodsPerSecond"`
	Makespan   float64 `json:"makespan"`
	// RunTime is from running to done, Sojourn from submission to done,
	// Scheduling from submission to the last bind: of a pod that was killed, its former lives are in it.
	RunTime    timeQuantiles `json:"runTime"`
	Sojourn    timeQuantiles `json:"sojourn"`
	Scheduling timeQuantiles `json:"schedulingLatency"`
	// SlowdownP99 is the 99th percentile of run time over the run time alone on
	// an idle node.
	SlowdownP99 float64 `json:"slowdownP99"`
	// MostPods is the largest number of pods bound to one node at a time.
	MostPods int `json:"mostPodsOnANode"`
}

// summarise sums up records; pods that are not done count nowhere but in
// MostPods.
func summarise(records []podRecord) batchSummary {
	s := batchSummary{MostPods: mostPods(records)}
	var run, sojourn, scheduling, slowdown []float64
	var first, last time.Time
	for _, r := range records {
		if first.IsZero() || r.Created.Before(first) {
			first = r.Created
		}
		s.Kills += r.Kills
		switch {
		case r.Failed:
			s.Failed++
			continue
		case r.Done.IsZero():
			continue
		}
		if r.Done.After(last) {
			last = r.Done
		}
		s.Pods++
		runTime := r.Done.Sub(r.Running).Seconds()
		run = append(run, runTime)
		slowdown = append(slowdown, runTime/r.alone())
		sojourn = append(sojourn, r.Done.Sub(r.Created).Seconds())
		scheduling = append(scheduling, r.Bound.Sub(r.Created).Seconds())
	}
	if s.Pods == 0 {
		return s
	}
	s.Makespan = last.Sub(first).Seconds()
	s.Throughput = float64(s.Pods) / s.Makespan
	s.RunTime, s.Sojourn, s.Scheduling = quantiles(run), quantiles(sojourn), quantiles(scheduling)
	s.SlowdownP99 = quantiles(slowdown).P99
	return s
}

// alone is the run time on an idle node, in seconds.
func (t batchTask) alone() float64 {
	if t.Cores > 0 {
		return t.Work.Seconds() / t.Cores
	}
	return t.Work.Seconds()
}

func quantiles(values []float64) timeQuantiles {
	sorted := slices.Sorted(slices.Values(values))
	sum := 0.
	for _, v := range sorted {
		sum += v
	}
	rank := func(p float64) float64 { // the nearest rank
		return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
	}
	return timeQuantiles{Mean: sum / float64(len(sorted)), P50: rank(.5), P95: rank(.95), P99: rank(.99)}
}

// mostPods sweeps over the binds and ends of each node.
func mostPods(records []podRecord) int {
	type change struct {
		node  string
		at    time.Time
		delta int
	}
	var changes []change
	for _, r := range records {
		for _, past := range r.Past {
			if !past.Bound.IsZero() {
				changes = append(changes, change{past.Node, past.Bound, 1}, change{past.Node, past.Killed, -1})
			}
		}
		if r.Node == "" || r.Bound.IsZero() {
			continue
		}
		changes = append(changes, change{r.Node, r.Bound, 1})
		if !r.Done.IsZero() {
			changes = append(changes, change{r.Node, r.Done, -1})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		// At one instant the end comes first: it is what made room.
		return cmp.Or(cmp.Compare(a.node, b.node), a.at.Compare(b.at), cmp.Compare(a.delta, b.delta))
	})
	most, count := 0, 0
	for i, c := range changes {
		if i == 0 || c.node != changes[i-1].node {
			count = 0
		}
		count += c.delta
		most = max(most, count)
	}
	return most
}

// leastSojourn returns the least mean time, in seconds, in which any scheduler could have
// done works of one thread each that are all there at the start, on so many cores: the
// shortest first, each alone on a core. A figure below it was measured wrongly. Without
// works or cores it is 0.
func leastSojourn(tasks []batchTask, cores int) float64 {
	if len(tasks) == 0 || cores < 1 {
		return 0
	}
	works := make([]time.Duration, len(tasks))
	for i, t := range tasks {
		works[i] = t.Work
	}
	slices.Sort(works)
	free := make([]float64, min(cores, len(works))) // when each core is done
	sum := 0.
	for i, w := range works { // the core that is free first is the next in turn
		core := i % len(free)
		free[core] += w.Seconds()
		sum += free[core]
	}
	return sum / float64(len(works))
}
