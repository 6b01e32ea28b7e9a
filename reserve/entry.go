package reserve

import "time"

// Claim says who vouches for a pod being on a node.
type Claim uint8

const (
	// Unclaimed: nobody but perhaps a report.
	Unclaimed Claim = iota
	// Assumed: a scheduler reserved room; the bind is on its way.
	Assumed
	// Bound: the API says so.
	Bound
)

// Progress is how far the API shows a pod on its way to run.
type Progress uint8

const (
	// Starting: nothing but the node keeps its containers waiting, or they run.
	Starting Progress = iota
	// Initializing: no container but its init containers has run yet. A report that
	// no longer lists it tells of a gap between two of them, not of its end.
	Initializing
	// Stalled: it waits for something that the node can't give: an image that can't
	// be pulled, a configuration that is not there, an init container that keeps
	// failing. It may start at any time, so it keeps its room.
	Stalled
	// Ended: a container of it has run and ended, so that no report may ever list
	// it again.
	Ended
)

// entry is one claimed pod. Its share and its queues follow from the other
// fields; Ledger.change keeps them.
type entry struct {
	pod      PodKey
	account  *Account
	asks     units
	claim    Claim
	progress Progress
	absorbed bool
	overdue  bool
	trickled bool
	// assumed and flying are since when the claim is Assumed and since when the
	// pod is in flight.
	assumed, flying time.Time
	// byAssumed is in Ledger.assumed while the claim is Assumed, byFlight in
	// Ledger.flight while the pod is in flight and not overdue.
	byAssumed, byFlight link
}

func (e *entry) inFlight() bool { return !e.absorbed }

func (e *entry) share() (s share) {
	if e.trickled && e.progress != Stalled {
		s.trickled = 1
	}
	if e.absorbed {
		s.confirmed = 1
		return s
	}
	s.units, s.flying = e.asks, 1
	switch {
	case e.progress == Stalled:
		s.stalled = e.asks.pods
	case e.overdue:
		s.overdue = e.asks.pods
	}
	return s
}

// returns says whether a pod that a report listed and the next does not list is
// still to come.
func (e *entry) returns() bool { return e.progress == Initializing || e.progress == Stalled }
