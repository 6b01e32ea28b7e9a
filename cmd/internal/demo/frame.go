package demo

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/plugin"
)

// frame is the state of a run at one moment.
type frame struct {
	Profile string
	// Elapsed is virtual time since the batch began.
	Elapsed time.Duration
	// The counts are those of the batch; a Total of 0 is a run without one.
	podCounts
	Nodes []plugin.NodeState
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
		t.Add(cells(n)...)
	}
	lines := append([]string{f.progress()}, strings.Split(strings.TrimSuffix(rendered(t), "\n"), "\n")...)
	if height > 0 && len(lines) > height {
		hidden := len(lines) - height + 1
		lines = append(lines[:max(height-1, 0)], fmt.Sprintf("… and %d more nodes", hidden))
	}
	return lines
}

// isFresh reports whether a node's signal is known.
func isFresh(n plugin.NodeState) bool { return n.Signal == "fresh" }

// inFlight is how many pods are in flight to a node.
func inFlight(n plugin.NodeState) int { return int(n.InFlight + .5) }

func cells(n plugin.NodeState) []string {
	if !isFresh(n) {
		return []string{n.Node, none, fmt.Sprint(inFlight(n)), none, none, none}
	}
	return []string{n.Node, number(n.Avail), fmt.Sprint(inFlight(n)), fmt.Sprint(n.Running), number(n.K), cmp.Or(n.Limiting, none)}
}
