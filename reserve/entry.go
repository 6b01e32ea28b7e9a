package reserve

import (
	"container/list"
	"time"
)

// Claim is the source of the knowledge that a pod is on a node.
type Claim uint8

const (
	// Unclaimed: at most a report lists it.
	Unclaimed Claim = iota
	// Assumed: a scheduler reserved room; the bind is on its way.
	Assumed
	// Bound: the API says so.
	Bound
)

// Progress is how far the API shows a pod on its way to run.
type Progress uint8

const (
	// Starting: only the node keeps its containers waiting, or they run.
	Starting Progress = iota
	// Initializing: no container except its init containers has run yet. A report that
	// no longer lists it sees a gap between two of them, not its end.
	Initializing
	// Stalled: it waits for something that the node can't give: an image that can't
	// be pulled, a missing configuration, an init container that keeps
	// failing. It may start at any time, so it keeps its room.
	Stalled
	// Ended: a container of it has run and ended, so that no report may ever list
	// it again.
	Ended
)

// entry is one claimed pod, or one that room is held for. Its share and its queues follow from the
// other fields; Ledger.change keeps them.
type entry struct {
	pod      PodKey
	account  *Account
	asks     units
	held     bool
	claim    Claim
	progress Progress
	// confirmed reports whether a report lists the pod, late whether it has been in flight for
	// longer than Patience, overdue whether MarkOverdue marked it.
	confirmed, late, overdue bool
	// standing is what the API shows of the containers, since when, and settled whether it has
	// shown that for settleTime. ran stays set once it was so while they ran.
	standing     Standing
	since        time.Time
	settled, ran bool
	// assumed and flying are since when the claim is Assumed and since when the
	// pod is in flight.
	assumed, flying time.Time
	// queued are the entry's places in the queues of the ledger, nil where it is in none.
	queued [queues]*list.Element
}

func (e *entry) inFlight() bool { return !e.held && !e.confirmed && e.progress != Ended }

func (e *entry) share() (s share) {
	pods := e.asks[podSum]
	if e.held {
		s[held] = pods
		return s
	}
	if e.overdue && e.progress != Stalled {
		s[overdue] = 1
	}
	if !e.confirmed && !e.ran && !e.settled {
		s[unseen] = pods
	}
	if e.confirmed || e.ran {
		s[running] = 1
	}
	if !e.inFlight() {
		s[confirmed] = 1
		return s
	}
	if e.ran {
		s[unlistedRunning] = 1
	}
	copy(s[:], e.asks[:])
	s[flying] = 1
	switch {
	case e.progress == Stalled:
		s[stalled] = pods
	case e.late:
		s[late] = pods
	}
	return s
}

// waits reports whether a time limit of a queue holds for the entry.
func (e *entry) waits(queue int) bool {
	switch queue {
	case byAssumed:
		return e.claim == Assumed
	case byFlight:
		return e.inFlight() && !e.late
	}
	return (e.standing.Runs || e.standing.Held) && !e.settled && !e.ran
}

// returns reports whether a pod that a report listed and the next does not list is
// still to come.
func (e *entry) returns() bool { return e.progress == Initializing || e.progress == Stalled }

// Standing is what the API shows of a pod's containers. The zero value is a pod whose
// containers are on their way.
type Standing struct {
	// Runs: all of them run, or have ended beside one that runs. Held: one can't be started,
	// and kubelet will try again. At most one of the two is true.
	Runs, Held bool
	// Restarts is how often containers were started again: one that was begins anew.
	Restarts int32
}

// settleTime is how long the API has to show that a pod's containers run, or are held
// up, until slow start no longer waits for the pod on a node without a report. It is
// measured by the scheduler's clock because kubelet's may be off.
const settleTime = 10 * time.Second
