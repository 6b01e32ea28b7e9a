package web

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// alike is how near two runs' mean times are for them to be called the same. One batch against
// one batch shows nothing finer: repeated, such batches differ by some per cent.
const alike = .05

// verdict returns in words what a State shows, the most important first. Of Comparable runs that
// have ended, it is whose pods were done in less time, and in how much less; of runs that
// haven't, how far they are. If runs aren't comparable, it describes the state and compares
// nothing.
func verdict(s State) []string {
	s = bounded(s)
	if !s.Comparable {
		return situation(s)
	}
	var ended []*Run
	var now *Run
	for i := range s.Runs {
		switch r := &s.Runs[i]; {
		case r.Submitted <= 0 || r.Started.IsZero():
		case r.Ended:
			ended = append(ended, r)
		case now == nil:
			now = r
		}
	}
	switch {
	case now != nil && len(ended) > 0:
		return progress(now, ended, s.At.Sub(now.Started))
	case now != nil:
		return []string{
			fmt.Sprintf("%s runs: %d of %s done after %s.", now.Profile, now.Done, count(most(now), "pod"), span(s.At.Sub(now.Started))),
			"There is nothing to compare it with yet.",
		}
	case len(ended) > 1:
		return comparison(ended)
	case len(ended) == 1:
		return append([]string{took(ended[0])}, failures(ended)...)
	}
	return []string{"No pod has been created yet."}
}

// most is how many pods a run is to have.
func most(r *Run) int { return max(r.Total, r.Submitted) }

// progress reports whether a run is ahead of those before it, after the same time.
func progress(now *Run, ended []*Run, since time.Duration) []string {
	first := ended[len(ended)-1]
	others := make([]string, len(ended))
	for i, r := range ended {
		others[i] = fmt.Sprintf("%s had %d", r.Profile, doneBy(r, since))
	}
	does := "is level with"
	switch had := doneBy(first, since); {
	case now.Done > had:
		does = "is ahead of"
	case now.Done < had:
		does = "is behind"
	}
	lines := []string{
		fmt.Sprintf("So far %s %s %s.", now.Profile, does, first.Profile),
		fmt.Sprintf("After %s %d of its %s are done; by then %s.", span(since), now.Done, count(most(now), "pod"), list(others)),
	}
	return append(lines, failures(append(slices.Clone(ended), now))...)
}

// doneBy counts the pods that were done so long after a run's start.
func doneBy(r *Run, since time.Duration) int {
	n := 0
	for _, c := range r.Completions {
		if c.Since <= since {
			n++
		}
	}
	return n
}

// comparison compares runs that have ended.
func comparison(runs []*Run) []string {
	for _, r := range runs[1:] {
		if r.Submitted != runs[0].Submitted {
			return []string{fmt.Sprintf("The profiles can't be compared: %s had %s, %s %d.", runs[0].Profile, count(runs[0].Submitted, "pod"), r.Profile, r.Submitted)}
		}
	}
	done := slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return len(r.Completions) == 0 })
	var lines []string
	for _, r := range runs {
		if len(r.Completions) == 0 {
			lines = append(lines, fmt.Sprintf("None of %s %s was done.", possessive(r.Profile), count(r.Submitted, "pod")))
		}
	}
	if len(done) < 2 {
		return append(lines, failures(runs)...)
	}
	slices.SortStableFunc(done, func(a, b *Run) int { return cmp.Compare(mean(a), mean(b)) })
	best := done[0]
	var before, means, ends []string
	for _, r := range done[1:] {
		before = append(before, against(best, r))
		means = append(means, span(mean(r)))
		ends = append(ends, span(last(r)))
	}
	lines = append(lines,
		fmt.Sprintf("%s pods are done %s.", possessive(best.Profile), list(before)),
		fmt.Sprintf("On average %s from creation to done, against %s; the last of %s after %s, against %s.",
			span(mean(best)), list(means), count(best.Submitted, "pod"), span(last(best)), list(ends)))
	return append(lines, failures(runs)...)
}

// against returns how much sooner the pods of one run are done than those of another.
func against(best, other *Run) string {
	share := float64(mean(best)) / float64(mean(other))
	if !(share < 1-alike) {
		return "about as soon as " + possessive(other.Profile)
	}
	return fmt.Sprintf("%.0f %% sooner than %s", 100*(1-share), possessive(other.Profile))
}

// failures returns how many pods of each run failed.
func failures(runs []*Run) []string {
	var lines []string
	for _, r := range runs {
		if r.Failed > 0 {
			lines = append(lines, fmt.Sprintf("%d of %s %s failed, and no time counts them.", r.Failed, possessive(r.Profile), count(r.Submitted, "pod")))
		}
	}
	return lines
}

func took(r *Run) string {
	if len(r.Completions) == 0 {
		return fmt.Sprintf("%s has ended, and none of its %s is done.", r.Profile, count(r.Submitted, "pod"))
	}
	return fmt.Sprintf("%s pods were done %s after their creation, on average; there is nothing to compare them with.", possessive(r.Profile), span(mean(r)))
}

// situation is how things stand where no runs are compared.
func situation(s State) []string {
	lines := []string{takers(s.Nodes) + " " + waiters(s)}
	summarized := 0
	for i := range s.Runs {
		r := &s.Runs[i]
		if c := r.Completions; len(c) > 0 {
			lines = append(lines, fmt.Sprintf("Of %s last %s done, half took %s at most from their creation.", possessive(r.Profile), count(len(c), "pod"), span(quantile(tooks(c), .5))))
			summarized++
		}
	}
	if summarized > 1 {
		lines = append(lines, "These times don't compare the profiles: their pods differ, or this machine was too slow.")
	}
	return lines
}

// takers returns how many nodes take pods.
func takers(nodes []Node) string {
	takes := 0
	for _, n := range nodes {
		if n.Reason == "" || n.ByRequests {
			takes++
		}
	}
	switch {
	case len(nodes) == 0:
		return "There are no nodes."
	case takes == len(nodes):
		return fmt.Sprintf("All %s take pods.", count(len(nodes), "node"))
	case takes == 0:
		return fmt.Sprintf("None of %s takes pods.", count(len(nodes), "node"))
	}
	return fmt.Sprintf("%s of %s take pods.", thousands(takes), count(len(nodes), "node"))
}

// waiters returns how many pods wait, and for how long.
func waiters(s State) string {
	n := max(s.WaitingTotal, len(s.Waiting))
	if n == 0 {
		return "No pod waits."
	}
	does := "wait"
	if n == 1 {
		does = "waits"
	}
	longest := ""
	if len(s.Waiting) > 0 && !s.Waiting[0].Since.IsZero() {
		longest = ", the longest for " + span(s.At.Sub(s.Waiting[0].Since))
		if n == 1 {
			longest = " for " + span(s.At.Sub(s.Waiting[0].Since))
		}
	}
	return fmt.Sprintf("%s %s%s.", count(n, "pod"), does, longest)
}

// list joins the members of a list in words.
func list(members []string) string {
	switch n := len(members); n {
	case 0:
		return ""
	case 1:
		return members[0]
	default:
		text := members[0]
		for _, m := range members[1 : n-1] {
			text += ", " + m
		}
		return text + " and " + members[n-1]
	}
}

// span is a time in words that fit beside others.
func span(d time.Duration) string {
	s := max(0, d.Seconds())
	switch {
	case s < 1:
		return fmt.Sprintf("%.2f s", s)
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 119.5:
		return fmt.Sprintf("%.0f s", s)
	case s < 2*3600:
		return fmt.Sprintf("%d min %d s", int(s+.5)/60, int(s+.5)%60)
	}
	return fmt.Sprintf("%d h %d min", int(s)/3600, int(s)/60%60)
}

// count is a number of things.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + one + "s"
}

// thousands is a number that can be read: 5,000.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// possessive is whose something is.
func possessive(name string) string { return name + "'s" }
