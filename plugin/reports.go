package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// receive takes what the agent sends until the stream ends.
func (s *signalServer) receive(stream publishStream, sub *subscriber) error {
	defer func() {
		if sub.leave != nil {
			sub.leave()
		}
	}()
	takes := &spaziov1.Notice{Event: &spaziov1.Notice_TakesHeartbeats{TakesHeartbeats: true}}
	if err := stream.Send(takes); err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.hub.receive(message, sub); err != nil {
			return err
		}
	}
}

// receive takes one report or heartbeat. An error is a status that ends the
// stream.
func (h *Hub) receive(message *spaziov1.Report, sub *subscriber) error {
	if api.IsHeartbeat(message) {
		return h.heartbeat(message, sub)
	}
	report, err := api.ToReport(message)
	of := cmp.Or(sub.identity, sub.name, message.GetNode())
	switch {
	case errors.Is(err, api.ErrMeaning):
		// No part of the report counts: the node is treated as one without an agent until it
		// reports what this version knows, or this scheduler is upgraded.
		return h.refuse(of, reportUnsupported, err.Error(), status.Error(codes.FailedPrecondition, err.Error()))
	case err != nil:
		return h.refuse(of, reportInvalid, err.Error(), status.Error(codes.InvalidArgument, err.Error()))
	case of != report.Node && sub.identity != "":
		return h.refuse(of, reportInvalid, fmt.Sprintf("it is of node %q", report.Node),
			status.Errorf(codes.PermissionDenied, "an agent on node %q reports on node %q", of, report.Node))
	case of != report.Node:
		return h.refuse(of, reportInvalid, fmt.Sprintf("it is of node %q", report.Node),
			status.Errorf(codes.InvalidArgument, "a stream of node %q carries a report of node %q", of, report.Node))
	}
	n := h.nodes.get(report.Node)
	if n == nil {
		if h.synced.Load() {
			h.metrics.reports[reportUnknown].Inc()
			return status.Errorf(codes.InvalidArgument, "node %q is not in the cluster", report.Node)
		}
		n = h.node(report.Node)
	}
	sub.base = versionOf(&report)
	result := h.accept(n, &report, min(time.Duration(message.GetSampleAgeNanos()), api.MaxAge))
	h.metrics.reports[result].Inc()
	h.keepStream(n, sub, result)
	return nil
}

// mostReason bounds what is kept of a reason, which may quote what the agent sent.
const mostReason = 200

// refuse counts a report that does not count, records why at the node that it should be of, if that is
// known, and returns the status that ends the stream.
func (h *Hub) refuse(node, result, why string, end error) error {
	h.metrics.reports[result].Inc()
	if len(why) > mostReason {
		why = strings.ToValidUTF8(why[:mostReason], "") + "…"
	}
	if n := h.nodes.get(node); n != nil {
		n.refused.Store(&RefusedReport{At: h.clock(), Reason: why})
	}
	return end
}

// errBase ends the stream of a heartbeat that refers to another report than the
// node's, so that the agent begins its next stream with a full report. It occurs
// after a node was deleted and created again.
var errBase = errors.New("heartbeat of a report that is not the node's: send a full report on a new stream")

// heartbeat handles a heartbeat, which confirms that the stream's last full report
// still holds. An error is a status that ends the stream.
func (h *Hub) heartbeat(message *spaziov1.Report, sub *subscriber) error {
	b, err := api.ToHeartbeat(message)
	if err != nil {
		h.metrics.reports[reportInvalid].Inc()
		return status.Error(codes.InvalidArgument, err.Error())
	}
	n := h.nodes.get(sub.name)
	if n == nil || b.Unchanged != sub.base.sequence {
		h.metrics.reports[reportInvalid].Inc()
		return status.Error(codes.FailedPrecondition, errBase.Error())
	}
	result, err := h.renew(n, sub.base, b)
	h.metrics.reports[result].Inc()
	if err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	h.keepStream(n, sub, result)
	return nil
}

// renew makes the report of version base, if it is the node's current one, count as of
// a newer sample. A report that the rate limit holds back is renewed, too. The signal
// and the ledger's entries do not change.
func (h *Hub) renew(n *node, base version, b api.Heartbeat) (result string, err error) {
	now := h.now()
	sampled, newest := now-min(b.SampleAge, api.MaxAge), version{base.incarnation, b.Sequence}
	n.mu.Lock()
	held := n.held.Load()
	switch {
	case held != nil && versionOf(held.report) == base:
		n.held.Store(&arrival{held.report, held.at, sampled})
		result = reportLimited
	case n.report == nil || versionOf(n.report) != base:
		result, err = reportInvalid, errBase
	case !newest.after(n.newest):
		result = reportOutdated
	case !h.takes(n, now):
		result = reportLimited
	default:
		n.sampled, n.newest = sampled, newest
		h.refreshLocked(n)
		result = reportHeartbeat
	}
	n.mu.Unlock()
	return result, err
}

// takes counts a report of a node, whose mutex is held, unless the node reports too often.
func (h *Hub) takes(n *node, now time.Duration) bool {
	return n.bucket.take(now, h.args.MaxReportRate, float64(h.args.ReportBurst))
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
	confirmed := h.ledger.Confirm(n.name, r.Incarnation, r.Pods, clock)
	h.metrics.confirmed(confirmed)
	h.histories.confirmed(confirmed, clock)
	h.consumed(n, r, a.sampled)
	n.report, n.sampled, n.vacant = r, a.sampled, h.vacant(r)
	n.held.Store(nil)
	n.newest, n.signal = versionOf(r), n.account.Cap(r.Signal(), h.clock())
	h.refreshLocked(n)
	return mispredictions
}
