package web

import (
	"math"
	"sort"
	"time"
)

// curves are lines over one axis: Y[i] is the run i's, at From, From+Step and so on, nil behind
// what is known of it. Axes are in seconds.
type curves struct {
	// Kind is what they show: done, how many pods were done so long after the run's start;
	// within, the share in per cent of those done that took so long at most; rate, how many were
	// done a second, so long after the start; ago, the same, before now.
	Kind string       `json:"kind"`
	From float64      `json:"from"`
	Step float64      `json:"step"`
	Y    [][]*float64 `json:"y"`
}

// points is how many a line has at most, and bars how many a rate: as many as can be seen.
const (
	points = 240
	bars   = 40
)

// completionCurves are when pods were done. Comparable runs begin together, and whichever line
// is higher is ahead, also while it grows. Of others only the times of their pods are shown.
func completionCurves(s State) curves {
	if !s.Comparable {
		return withinCurves(s.Runs)
	}
	c := curves{Kind: "done", Y: make([][]*float64, len(s.Runs))}
	var longest time.Duration
	for i := range s.Runs {
		longest = max(longest, length(&s.Runs[i], s.At))
	}
	step := nice(longest, points)
	c.Step = step.Seconds()
	for i := range s.Runs {
		r := &s.Runs[i]
		done := sinces(r.Completions)
		for at := time.Duration(0); length(r, s.At) > 0; at += step {
			to := min(at, length(r, s.At))
			c.Y[i] = append(c.Y[i], value(float64(upTo(done, to))))
			if to < at || to == length(r, s.At) {
				break
			}
		}
	}
	return c
}

// withinCurves show how many pods took how long at most. The slowest hundredth is cut off, that
// the rest can be seen.
func withinCurves(runs []Run) curves {
	c := curves{Kind: "within", Y: make([][]*float64, len(runs))}
	all := make([][]time.Duration, len(runs))
	var longest, resolution time.Duration
	for i := range runs {
		if all[i] = tooks(runs[i].Completions); len(all[i]) > 0 {
			longest = max(longest, quantile(all[i], .99))
		}
		resolution = max(resolution, runs[i].Resolution)
	}
	step := max(nice(longest, points), resolution)
	c.Step = step.Seconds()
	for i, took := range all {
		for at := time.Duration(0); len(took) > 0 && at < longest+step; at += step {
			c.Y[i] = append(c.Y[i], value(math.Round(float64(upTo(took, at))/float64(len(took))*1000)/10))
		}
	}
	return c
}

// completionRates are how many pods were done a second: of comparable runs by the time since
// their start, of others before now, for the last hour at most. A value is of the step that
// ends there.
func completionRates(s State) curves {
	c := curves{Kind: "rate", Y: make([][]*float64, len(s.Runs))}
	var longest time.Duration
	for i := range s.Runs {
		r := &s.Runs[i]
		longest = max(longest, length(r, s.At)-known(r))
	}
	if !s.Comparable {
		longest = min(longest, time.Hour)
	}
	step := nice(longest, bars)
	c.Step = step.Seconds()
	if !s.Comparable {
		c.Kind, c.From = "ago", -(bars * step).Seconds()
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		begin := time.Duration(0)
		if !s.Comparable {
			begin = s.At.Sub(r.Started) - bars*step
		}
		c.Y[i] = rates(r, begin, step, length(r, s.At))
	}
	return c
}

// rates are a run's at begin, one step later and so on; nil before its completions are known.
func rates(r *Run, begin, step, ends time.Duration) []*float64 {
	done, from := sinces(r.Completions), known(r)
	var y []*float64
	for n := 0; n <= bars && ends > 0; n++ {
		to := begin + time.Duration(n)*step
		whole := to <= ends || r.Ended && to-step < ends
		if !whole {
			break
		}
		if to-step < from {
			y = append(y, nil)
			continue
		}
		y = append(y, value(float64(upTo(done, to)-upTo(done, to-step))/step.Seconds()))
	}
	return y
}

// known is from when on, since a run's start, all its completions are.
func known(r *Run) time.Duration {
	if len(r.Completions) == 0 || len(r.Completions) >= r.Done {
		return 0
	}
	first := r.Completions[0].Since
	for _, c := range r.Completions {
		first = min(first, c.Since)
	}
	return first
}

// length is how long a run took, or has taken until now.
func length(r *Run, at time.Time) time.Duration {
	switch {
	case r.Started.IsZero():
		return 0
	case r.Ended:
		return last(r)
	}
	return max(0, at.Sub(r.Started))
}

// upTo counts the sorted times that aren't beyond t.
func upTo(sorted []time.Duration, t time.Duration) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i] > t })
}

// nice is a round step, of which at most n cover a time.
func nice(whole time.Duration, n int) time.Duration {
	least := whole / time.Duration(n)
	for unit := 10 * time.Millisecond; ; unit *= 10 {
		for _, times := range []time.Duration{1, 2, 5} {
			if times*unit >= least {
				return times * unit
			}
		}
	}
}

func value(v float64) *float64 { return &v }
