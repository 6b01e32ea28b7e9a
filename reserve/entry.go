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
	// standing is what the API shows of the containers, since when, and settled that it has
	// shown that for settleTime. ran is that it once was so while they ran, for good.
	standing     Standing
	since        time.Time
	settled, ran bool
	// assumed and flying are since when the claim is Assumed and since when the
	// pod is in flight.
	assumed, flying time.Time
	// byAssumed is in Ledger.assumed while the claim is Assumed, byFlight in
	// Ledger.flight while the pod is in flight and not overdue.
	byAssumed, byFlight link
	// bySettling is in Ledger.settling while the containers run or are held up, and not
	// settled.
	bySettling link
}

func (e *entry) inFlight() bool { return !e.absorbed && e.progress != Ended }

func (e *entry) share() (s share) {
	if e.trickled && e.progress != Stalled {
		s.trickled = 1
	}
	if !e.absorbed && !e.ran && !e.settled {
		s.unseen = e.asks.pods
	}
	if e.absorbed || e.ran {
		s.running = 1
	}
	if !e.inFlight() {
		s.confirmed = 1
		return s
	}
	if e.ran {
		s.unlisted = 1
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

// Standing is what the API shows of a pod's containers. The zero value is a pod whose
// containers are on their way.
type Standing struct {
	// Runs: all of them run, or have ended beside one that runs. Held: one can't be started,
	// and kubelet will try again. At most one of the two is true.
	Runs, Held bool
	// Restarts is how often containers were started again: one that was begins anew.
	Restarts int32
}

// settleTime is for how long the API has to show that a pod's containers run, or are held
// up, until slow start no longer waits for the pod on a node without a report. It is
// counted by the scheduler's clock: kubelet's may be off.
const settleTime = 10 * time.Second
