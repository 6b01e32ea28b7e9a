package web

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// bounded returns the State with names of a bounded length, and of too many completions the latest.
func bounded(s State) State {
	s.Runs = slices.Clone(s.Runs)
	for i := range s.Runs {
		s.Runs[i].Profile = text(s.Runs[i].Profile, maxName)
		if c := s.Runs[i].Completions; len(c) > MaxCompletions {
			c = slices.SortedFunc(slices.Values(c), func(a, b Completion) int { return cmp.Compare(b.Since, a.Since) })
			s.Runs[i].Completions = c[:MaxCompletions]
		}
	}
	return s
}

func mean(r *Run) time.Duration {
	var sum float64
	for _, c := range r.Completions {
		sum += max(0, c.Took.Seconds())
	}
	return time.Duration(sum / float64(max(1, len(r.Completions))) * float64(time.Second))
}

// last is when the last pod was done, since the run's start.
func last(r *Run) time.Duration {
	var last time.Duration
	for _, c := range r.Completions {
		last = max(last, c.Since)
	}
	return last
}

// tooks are the times of completions in order, and sinces when they were.
func tooks(completions []Completion) []time.Duration {
	return times(completions, func(c Completion) time.Duration { return c.Took })
}

func sinces(completions []Completion) []time.Duration {
	return times(completions, func(c Completion) time.Duration { return c.Since })
}

func times(completions []Completion, of func(Completion) time.Duration) []time.Duration {
	out := make([]time.Duration, len(completions))
	for i, c := range completions {
		out[i] = max(0, of(c))
	}
	slices.Sort(out)
	return out
}

// quantile is the least of sorted times that so large a share doesn't exceed.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(0, min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1))]
}

// runRow is a run as it is sent, beside its curves. Times are in seconds.
type runRow struct {
	Profile    string  `json:"profile"`
	Ended      bool    `json:"ended"`
	Total      int     `json:"total"`
	Submitted  int     `json:"submitted"`
	Waiting    int     `json:"waiting"`
	Starting   int     `json:"starting"`
	Running    int     `json:"running"`
	Done       int     `json:"done"`
	Failed     int     `json:"failed"`
	Mean       float64 `json:"mean"`
	Last       float64 `json:"last"`
	Rate       float64 `json:"rate"`
	Over       float64 `json:"over"` // what the rate is over, 0 for none
	Resolution float64 `json:"resolution"`
}

// recent is what the rate of a run that goes on is over: long enough for some pods.
const recent = 10 * time.Second

func runsOf(s State) []runRow {
	rows := make([]runRow, 0, len(s.Runs))
	for i := range s.Runs {
		r := &s.Runs[i]
		row := runRow{
			Profile: r.Profile, Ended: r.Ended, Total: max(0, r.Total), Submitted: max(0, r.Submitted),
			Starting: max(0, r.Starting), Running: max(0, r.Running), Done: max(0, r.Done), Failed: max(0, r.Failed),
			Resolution: max(0, r.Resolution.Seconds()),
		}
		row.Waiting = max(0, row.Submitted-row.Starting-row.Running-row.Done-row.Failed)
		if len(r.Completions) > 0 {
			row.Mean, row.Last = rounded(mean(r)), rounded(last(r))
		}
		row.Rate, row.Over = rate(r, s.At)
		rows = append(rows, row)
	}
	return rows
}

// rate is how many pods are done a second: of a run that has ended over all of it, else over
// the last seconds.
func rate(r *Run, at time.Time) (perSecond, over float64) {
	ends := length(r, at)
	span, n := ends, r.Done
	if !r.Ended {
		span = min(ends, recent)
		done := sinces(r.Completions)
		n = upTo(done, ends) - upTo(done, ends-span)
	}
	if span <= 0 {
		return 0, 0
	}
	return math.Round(float64(n)/span.Seconds()*100) / 100, math.Round(span.Seconds()*10) / 10
}

// rounded is a time in seconds to a hundredth.
func rounded(d time.Duration) float64 { return math.Round(d.Seconds()*100) / 100 }

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
