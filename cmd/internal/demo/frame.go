package demo

import (
	"fmt"
	"strings"
	"time"
)

// nodeView is one node as the scheduler sees it.
type nodeView struct {
	Name string
	// Known is false until the node's first signal.
	Known             bool
	Avail             float64
	InFlight, Running int
	K                 float64
	Limiting          string
}

// frame is the state of a run at one moment.
type frame struct {
	Profile string
	// Elapsed is virtual time since the batch began.
	Elapsed time.Duration
	// podCounts are those of the batch; a Total of 0 is a run without one.
	podCounts
	Nodes []nodeView
}

// progress renders the frame in one line.
func (f frame) progress() string {
	if f.Total == 0 {
		return fmt.Sprintf("%s  %5.1fs", f.Profile, f.Elapsed.Seconds())
	}
	if f.Submitted == 0 {
		return fmt.Sprintf("%s  %5.1fs  creating %d pods", f.Profile, f.Elapsed.Seconds(), f.Total)
	}
	waiting := f.Submitted - f.Bound - f.Running - f.Done
	return fmt.Sprintf("%s  %5.1fs  %d of %d done, %d running, %d starting, %d waiting",
		f.Profile, f.Elapsed.Seconds(), f.Done, f.Total, f.Running, f.Bound, waiting)
}

// lines renders the frame as a table of at most so many lines; 0 is no limit. What
// does not fit is counted in the last line.
func (f frame) lines(height int) []string {
	t := numbers("node", "avail", "in flight", "running", "signal k", "limiting")
	for _, n := range f.Nodes {
		t.Add(n.cells()...)
	}
	var b strings.Builder
	_ = t.WriteText(&b, 0) // a Builder takes everything
	lines := append([]string{f.progress()}, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")...)
	if height > 0 && len(lines) > height {
		hidden := len(lines) - height + 1
		lines = append(lines[:max(height-1, 0)], fmt.Sprintf("… and %d more nodes", hidden))
	}
	return lines
}

func (n nodeView) cells() []string {
	if !n.Known {
		return []string{n.Name, "-", fmt.Sprint(n.InFlight), "-", "-", "-"}
	}
	limiting := n.Limiting
	if limiting == "" {
		limiting = "-"
	}
	return []string{n.Name, number(n.Avail), fmt.Sprint(n.InFlight), fmt.Sprint(n.Running), number(n.K), limiting}
}
