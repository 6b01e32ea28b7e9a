package plugin

import (
	"time"

	"github.com/spazio-scheduler/spazio/agent"
)

// bucket limits the reports of one node to burst at once and rate per second. It fills with
// reports and leaks with time; the zero value is empty.
type bucket struct {
	level float64
	at    time.Duration
}

// take counts a report and returns true, unless the bucket is full. If the clock was set back,
// the bucket does not leak until the clock has caught up.
func (b *bucket) take(now time.Duration, rate, burst float64) bool {
	if now > b.at {
		b.level = max(b.level-rate*(now-b.at).Seconds(), 0)
		b.at = now
	}
	if b.level+1 > burst {
		return false
	}
	b.level++
	return true
}

// takes counts a report of a node, whose mutex is held, unless the node reports too often.
func (h *Hub) takes(n *node, now time.Duration) bool {
	return n.bucket.take(now, h.args.MaxReportRate, float64(h.args.ReportBurst))
}

// arrival is a report with the times, since the Hub's start, at which it came and at which its
// newest sample was taken. The age of a delayed report counts from the sample.
type arrival struct {
	report      *agent.Report
	at, sampled time.Duration
}

// accept makes a report the node's newest, unless a newer one is already there or the node
// reports too often. Of the excess reports the newest is held, and takes effect with the next one
// or at the first inspection that finds the bucket leaked, whichever comes first.
//
// A newer report that has turned stale gives way to an older version: a node whose clock was set
// back starts over with a lower incarnation.
func (h *Hub) accept(n *node, r *agent.Report, age time.Duration) (result string) {
	a := arrival{report: r, at: h.now()}
	a.sampled = a.at - age
	var mispredictions []agent.Misprediction
	n.mu.Lock()
	switch {
	case n.outdated(a):
		result = reportOutdated
	case !h.takes(n, a.at):
		if held := n.held.Load(); held == nil || versionOf(r).after(versionOf(held.report)) {
			n.held.Store(&a)
		}
		result = reportLimited
	default:
		if held := n.held.Load(); held != nil && versionOf(held.report).after(versionOf(r)) {
			a = *held
		}
		mispredictions = h.apply(n, a)
		result = reportAccepted
	}
	n.mu.Unlock()
	h.mispredicted(n, mispredictions)
	return result
}

// outdated reports whether the node, whose mutex is held, has a fresh report that is at least as
// new.
func (n *node) outdated(a arrival) bool {
	return n.report != nil && !versionOf(a.report).after(n.newest) && n.view.Load().fresh(a.at)
}

// release applies the report that n holds back, if there is one and its rate allows; the mutex of
// n is held. It returns what apply does.
func (h *Hub) release(n *node, now time.Duration) (mispredictions []agent.Misprediction) {
	held := n.held.Load()
	if held == nil || !h.takes(n, now) {
		return nil
	}
	return h.apply(n, *held)
}

// apply makes a report the current one of n, whose mutex is held, and returns the mispredictions that
// are new.
func (h *Hub) apply(n *node, a arrival) (mispredictions []agent.Misprediction) {
	r := a.report
	mispredictions = newMispredictions(r, n.report)
	clock := h.clock()
	confirmed := h.ledger.Confirm(n.name, r.Incarnation, r.Absorbed, clock)
	h.metrics.confirmed(confirmed)
	h.histories.confirmed(confirmed, clock)
	h.consumed(n, r, a.sampled)
	n.report, n.sampled, n.vacant = r, a.sampled, h.vacant(r)
	n.held.Store(nil)
	n.newest, n.signal = versionOf(r), n.account.Cap(r.Signal(), h.clock())
	h.refreshLocked(n)
	return mispredictions
}

// version orders the reports of a node.
type version struct{ incarnation, sequence uint64 }

func versionOf(r *agent.Report) version { return version{r.Incarnation, r.Sequence} }

func (v version) after(w version) bool {
	if v.incarnation != w.incarnation {
		return v.incarnation > w.incarnation
	}
	return v.sequence > w.sequence
}
