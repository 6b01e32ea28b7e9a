package web

import (
	"cmp"
	"math"
	"slices"
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
