package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// shutdownTime is how long streams have to end by themselves at a shutdown.
const shutdownTime = time.Second

// serve answers agents and controllers on listener until ctx ends.
func (h *Hub) serve(ctx context.Context, server *grpc.Server, listener net.Listener) {
	spaziov1.RegisterSignalServiceServer(server, &signalServer{hub: h, ctx: ctx})
	spaziov1.RegisterRoomServiceServer(server, &roomServer{hub: h, ctx: ctx})
	served := make(chan struct{})
	h.tasks.Go(func() {
		defer close(served)
		if err := server.Serve(listener); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Signal server ended", "address", listener.Addr())
		}
	})
	h.tasks.Go(func() {
		select {
		case <-ctx.Done():
		case <-served:
		}
		// The handlers see the end of ctx and return; a client that does not read
		// must not hold up the shutdown.
		forced := time.AfterFunc(shutdownTime, server.Stop)
		defer forced.Stop()
		server.GracefulStop()
	})
}

// signalServer receives reports. Safe for concurrent use.
type signalServer struct {
	spaziov1.UnimplementedSignalServiceServer
	hub *Hub
	// ctx is the scheduler's: a handler gets no other sign of shutdown.
	ctx context.Context
}

type publishStream = grpc.BidiStreamingServer[spaziov1.Report, spaziov1.Notice]

const (
	// maxUnauthenticated bounds the streams that have not yet brought a report that counts,
	// maxUnauthenticatedOfOne those of one address. An agent's stream is one while the API server
	// reviews its token; an agent that is refused comes again.
	maxUnauthenticated, maxUnauthenticatedOfOne = 1024, 128
)

// Publish receives an agent's reports and sends it notices until either side
// ends, the scheduler stops, the agent's token expires or the API server no longer
// accepts it, the agent no longer reads or no longer reports, or a newer stream
// reports on the same node. Too many streams that have yet to report are refused.
func (s *signalServer) Publish(stream publishStream) error {
	m := s.hub.metrics
	m.streams.Inc()
	defer m.streams.Dec()
	caller := transport.CallerAddr(stream.Context())
	if !s.hub.unauthenticated.Acquire(caller) {
		m.closings[closedUnauthenticated].Inc()
		return status.Error(codes.ResourceExhausted, "too many streams without a report")
	}
	known := sync.OnceFunc(func() { s.hub.unauthenticated.Release(caller) })
	defer known()
	ctx := stream.Context()
	agent, err := s.hub.identify(ctx, s.hub.identities)
	if err != nil {
		return err
	}
	sub := newSubscriber(stream, agent.Node, s.hub.tasks.Go)
	sub.admit = sync.OnceFunc(func() {
		known()
		transport.Admit(ctx)
		sub.leave = m.agents.join(agentVersion(ctx))
	})
	defer context.AfterFunc(s.ctx, func() { sub.end(errStopping) })()
	sub.idle = time.AfterFunc(s.hub.args.IdleTimeout.Duration, func() { sub.end(errIdle) })
	defer sub.idle.Stop()
	if !agent.Until.IsZero() {
		defer time.AfterFunc(time.Until(agent.Until), func() { sub.end(errExpired) }).Stop()
	}
	defer sub.notices.close()
	defer s.hub.unsubscribe(sub)
	// The receiver has a goroutine of its own, because gRPC gives a stream whose Recv failed its
	// own status. It ends when this handler has returned.
	received := make(chan error, 1)
	s.hub.tasks.Go(func() { received <- s.receive(stream, sub) })
	review := time.NewTimer(s.hub.untilReview(s.hub.identities, agent))
	defer review.Stop()
	for {
		select {
		case err := <-received:
			return err
		case why := <-sub.ended:
			return s.hub.closeStream(why)
		case <-review.C:
			if agent, err = s.hub.review(ctx, s.hub.identities, agent); err != nil {
				s.hub.metrics.closings[closedRefused].Inc()
				return err
			}
			review.Reset(s.hub.untilReview(s.hub.identities, agent))
		}
	}
}

// closeReason is the reason why the scheduler ends a stream.
type closeReason struct {
	label   string // of the metric
	code    codes.Code
	message string
}

var (
	errStopping   = &closeReason{"", codes.Unavailable, "scheduler is stopping"}
	errIdle       = &closeReason{closedIdle, codes.DeadlineExceeded, "no report that counts for too long"}
	errExpired    = &closeReason{closedExpired, codes.Unauthenticated, "the token has expired: come again with the next one"}
	errSuperseded = &closeReason{closedSuperseded, codes.Aborted, "a newer stream reports on the same node"}
	errSlow       = &closeReason{closedSlow, codes.ResourceExhausted, "notices are not being read"}
)

// closeStream returns the status of a stream that the scheduler ended.
func (h *Hub) closeStream(why *closeReason) error {
	if why == errSlow {
		h.metrics.notices[noticeOverflow].Inc()
	}
	if why.label != "" {
		h.metrics.closings[why.label].Inc()
	}
	return status.Error(why.code, why.message)
}

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

// RefusedReport is a report that does not count, because it is invalid or of a newer version. A
// plain value.
type RefusedReport struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
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

// keepStream handles each valid report or heartbeat; result is what came of it.
func (h *Hub) keepStream(n *node, sub *subscriber, result string) {
	if h.subscribe(n, sub, result != reportOutdated) {
		sub.idle.Reset(h.args.IdleTimeout.Duration)
		sub.admit()
	}
}
