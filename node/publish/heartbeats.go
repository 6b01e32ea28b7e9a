package publish

import (
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	// heartbeatLeast and beatMost bound the time between two messages of a stream
	// whose reports say nothing new. Two in a row may be lost or late before the
	// scheduler's default of 5 s counts the node as silent. The time is drawn
	// anew each time, so that the nodes of a fleet fall out of step.
	heartbeatLeast, heartbeatMost = 2 * time.Second, 2500 * time.Millisecond
	// fullMost is the age at which a report is sent again in full although nothing
	// changed by more than the tolerances: usages and costs, by which no pod is placed,
	// move on all the same, and people and the autoscale controller look at them.
	fullMost = 30 * time.Second
	// powerMost is that age where power is measured, which decisions rest on and which
	// moves all the time: the next message, up to beatMost later, may be too late.
	powerMost = 5*time.Second - heartbeatMost
	// A change of avail or the allowance is sent at once if it is more than
	// slackPods and more than slackShare of what was sent last: less than what
	// the noise of a sample moves them by.
	slackPods, slackShare = 1. / 8, .02
	// A room that is not the scarcest is sent if it is this much of its channel off:
	// no offer rests on it but one to pods whose workload is known.
	slackRoom = 1. / 16
	// slackTypicalCPU is the share by which what pods usually take may move untold: those within
	// reserve.TypicalCPUTolerance of it count as such.
	slackTypicalCPU = reserve.TypicalCPUTolerance / 4
	// onePod is what a node must have room for to be given any.
	onePod = 1
)

// message is what a stream sends of a report.
type message int

// Nothing: the scheduler knows as much already. Heartbeat: one, which confirms
// that the last full report still holds. Full: the report.
const (
	nothing message = iota
	heartbeat
	full
)

// heartbeats decides what one stream carries: a full report first and on every
// change, else a heartbeat every 2 to 2.5 s, and full reports alone to a
// scheduler that has not said that it takes heartbeats. The zero value is a
// stream that has carried nothing. It is not safe for concurrent use.
type heartbeats struct {
	accepted bool
	base     *agent.Report // the last full report
	fullAt   time.Time     // when that was sent
	reported *agent.Report // the newest that the stream has carried in either form
	due      time.Time     // of the next message if nothing changes
}

// accept notes that the scheduler takes heartbeats.
func (h *heartbeats) accept() { h.accepted = true }

// sequence is the sequence number of the report that a Heartbeat refers to.
func (h *heartbeats) sequence() uint64 { return h.base.Sequence }

// next returns what to send of r, the newest report, which may be nil and is never
// modified, and from when on. If nothing is to be sent of it, that is when a next
// report would be.
func (h *heartbeats) next(r *agent.Report, now time.Time) (message, time.Time) {
	switch {
	case r == nil || r == h.reported:
		if h.accepted {
			return nothing, h.due
		}
		return nothing, now
	case h.base == nil || !h.accepted || differs(h.base, r):
		return full, now
	case h.due.Sub(h.fullAt) >= fullMost, r.Power.Known() && h.due.Sub(h.fullAt) > powerMost:
		return full, h.due
	}
	return heartbeat, h.due
}

// sent records that the stream has sent m of r; random, in [0, 1), draws the time
// of the next message.
func (h *heartbeats) sent(m message, r *agent.Report, now time.Time, random float64) {
	if m == nothing {
		return
	}
	if m == full {
		h.base, h.fullAt = r, now
	}
	h.reported = r
	h.due = now.Add(heartbeatLeast + time.Duration(random*float64(heartbeatMost-heartbeatLeast)))
}

// differs reports whether r must be sent to a scheduler that has known: whether its
// pods, its flags, what limits it, its room or what its power rests on have changed,
// it carries what its pods took, or a heartbeat could not refer to known.
func differs(known, r *agent.Report) bool {
	return known.Sequence == 0 || r.Sequence <= known.Sequence ||
		known.Node != r.Node || known.Incarnation != r.Incarnation || known.Schema != r.Schema ||
		known.Flags != r.Flags || known.Saturated != r.Saturated || known.Limiting != r.Limiting ||
		!slices.Equal(known.Pods, r.Pods) ||
		(known.Avail >= onePod) != (r.Avail >= onePod) ||
		hasChanged(known.Avail, r.Avail) || hasChanged(known.Allowance, r.Allowance) ||
		!(math.Abs(r.TypicalCPU-known.TypicalCPU) <= slackTypicalCPU*known.TypicalCPU) ||
		known.Power.Quality != r.Power.Quality || len(r.PodCores) > 0 ||
		hasNewMisprediction(known.Mispredictions, r.Mispredictions) || len(known.Channels) != len(r.Channels) || haveRoomsChanged(known, r)
}

// hasNewMisprediction reports whether there are mispredictions that were not sent.
func hasNewMisprediction(known, mispredictions []agent.Misprediction) bool {
	return slices.ContainsFunc(mispredictions, func(s agent.Misprediction) bool { return !slices.Contains(known, s) })
}

func haveRoomsChanged(known, r *agent.Report) bool {
	for i := range r.Channels {
		if !(math.Abs(r.Channels[i].Room-known.Channels[i].Room) <= slackRoom) {
			return true
		}
	}
	return false
}

// hasChanged reports whether x is beyond the tolerance of what is known; NaN is.
func hasChanged(known, x float64) bool {
	return !(math.Abs(x-known) <= max(slackPods, slackShare*math.Abs(known)))
}
