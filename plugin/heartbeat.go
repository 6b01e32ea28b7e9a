package plugin

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

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
