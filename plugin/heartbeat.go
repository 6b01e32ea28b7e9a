package plugin

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// errBase ends the stream of a heartbeat that refers to another report than the
// node's: the agent begins its next stream with a full one. It is what happens to
// a node that was deleted and made again.
var errBase = errors.New("heartbeat of a report that is not the node's: come again with a full one")

// heartbeat takes a heartbeat: what the stream's last full report said still
// holds. An error is a status that ends the stream.
func (h *Hub) heartbeat(message *spaziov1.Report, sub *subscriber) error {
	b, err := api.ToHeartbeat(message)
	if err != nil {
		h.metrics.report(reportInvalid)
		return status.Error(codes.InvalidArgument, err.Error())
	}
	n := h.nodes.get(sub.name)
	if n == nil || b.Unchanged != sub.base.sequence {
		h.metrics.report(reportInvalid)
		return status.Error(codes.FailedPrecondition, errBase.Error())
	}
	result, err := h.renew(n, sub.base, b)
	h.metrics.report(result)
	if err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	h.heard(n, sub, result)
	return nil
}

// renew makes the report of the version base, if it is the node's, count from a
// newer sample. One that is held back for its rate is renewed, too. What is
// decided on stays as it is, and so do the ledger's entries.
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
	case !n.bucket.take(now, h.rate, h.burst):
		result = reportLimited
	default:
		n.sampled, n.newest = sampled, newest
		h.refreshLocked(n)
		result = reportHeartbeat
	}
	n.mu.Unlock()
	return result, err
}
