package plugin

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/reserve"
)

// partingTime is what streams get to end by themselves at a shutdown.
const partingTime = time.Second

// serve answers agents on listener until ctx ends.
func (h *Hub) serve(ctx context.Context, server *grpc.Server, listener net.Listener) {
	spaziov1.RegisterSignalServiceServer(server, &signalServer{hub: h, ctx: ctx})
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
		hurry := time.AfterFunc(partingTime, server.Stop)
		defer hurry.Stop()
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
	// maxStrangers bounds the streams that have not brought a report which
	// counts, in all and of one address. An agent's is one for as long as the API
	// server takes to say whose it is; an agent that is refused comes again.
	maxStrangers, maxStrangersOfOne = 1024, 128
)

// Publish receives an agent's reports and sends it notices until either side
// ends, the scheduler stops, the agent's token expires, the agent no longer
// reads or no longer reports, or a newer stream reports on the same node. Too
// many streams that have yet to report are refused.
func (s *signalServer) Publish(stream publishStream) error {
	m := s.hub.metrics
	m.streams.Inc()
	defer m.streams.Dec()
	caller := transport.Caller(stream.Context())
	if !s.hub.strangers.Take(caller) {
		m.closed(closedStrangers)
		return status.Error(codes.ResourceExhausted, "too many streams without a report")
	}
	known := sync.OnceFunc(func() { s.hub.strangers.Give(caller) })
	defer known()
	agent, err := s.hub.identify(stream.Context())
	if err != nil {
		return err
	}
	expired, stop := expiry(agent, time.Now())
	defer stop()
	sub := newSubscriber(s.hub.idle, agent.Node)
	sub.admit = func() { known(); transport.Admit(stream.Context()) }
	defer sub.idle.Stop()
	defer s.hub.unsubscribe(sub)
	ended := make(chan error, 2)
	// Both goroutines end when this handler returns: gRPC then ends the stream,
	// and with it what they wait for.
	s.hub.tasks.Go(func() { ended <- s.receive(stream, sub) })
	s.hub.tasks.Go(func() { ended <- sub.send(stream) })
	select {
	case err := <-ended:
		return err
	case <-sub.overflow.closed:
		m.notice(noticeOverflow)
		m.closed(closedSlow)
		return status.Error(codes.ResourceExhausted, "notices are not being read")
	case <-sub.superseded.closed:
		m.closed(closedSuperseded)
		return status.Error(codes.Aborted, "a newer stream reports on the same node")
	case <-sub.idle.C:
		m.closed(closedIdle)
		return status.Errorf(codes.DeadlineExceeded, "no report that counts for %v", s.hub.idle)
	case <-expired:
		m.closed(closedExpired)
		return status.Error(codes.Unauthenticated, "the token has expired: come again with the next one")
	case <-s.ctx.Done():
		return status.Error(codes.Unavailable, "scheduler is stopping")
	}
}

func (s *signalServer) receive(stream publishStream, sub *subscriber) error {
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
	if err != nil {
		h.metrics.report(reportInvalid)
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if sub.identity != "" && sub.identity != report.Node {
		h.metrics.report(reportInvalid)
		return status.Errorf(codes.PermissionDenied, "an agent on node %q reports on node %q", sub.identity, report.Node)
	}
	if sub.name != "" && sub.name != report.Node {
		h.metrics.report(reportInvalid)
		return status.Errorf(codes.InvalidArgument, "a stream of node %q carries a report of node %q", sub.name, report.Node)
	}
	n := h.nodes.get(report.Node)
	if n == nil {
		if h.synced.Load() {
			h.metrics.report(reportUnknown)
			return status.Errorf(codes.InvalidArgument, "node %q is not in the cluster", report.Node)
		}
		n = h.node(report.Node)
	}
	sub.base = versionOf(&report)
	result := h.accept(n, &report, time.Duration(message.GetSampleAgeNanos()))
	h.metrics.report(result)
	h.heard(n, sub, result)
	return nil
}

// heard is for each report or heartbeat that makes sense, with what came of it.
func (h *Hub) heard(n *node, sub *subscriber, result string) {
	if h.subscribe(n, sub, result != reportOutdated) {
		sub.idle.Reset(h.idle)
		sub.admit()
	}
}

// signalOf is what decisions need of a report.
func signalOf(r *agent.Report) reserve.Signal {
	return reserve.Signal{Avail: r.Avail, Allowance: r.Allowance, Pods: len(r.Absorbed), K: r.K, Saturated: r.Saturated}
}

// bind is what a notice tells of a pod.
type bind struct {
	pod   reserve.PodKey
	inits uint32 // init containers
}

func bindOf(key reserve.PodKey, pod *v1.Pod) bind {
	return bind{key, uint32(len(pod.Spec.InitContainers))}
}

// noticeBacklog is how many notices may wait for an agent: more than a node
// gets pods in the seconds a healthy agent may pause.
const noticeBacklog = 64

// subscriber is one stream. A node has one at most: the newest.
type subscriber struct {
	// identity is the node whose reports alone are taken; empty for any.
	identity string
	// name and node are set by the receiving goroutine at the first report; node
	// changes if the API's node was deleted and made again. base is the last full
	// report of the stream.
	name    string
	base    version
	mu      sync.Mutex
	node    *node
	closed  bool
	notices chan bind
	// admit is called with each report of a stream that is its node's.
	admit func()
	// idle fires when the stream brought no such report for too long.
	idle                 *time.Timer
	overflow, superseded signal
}

// signal is raised once. Safe for concurrent use.
type signal struct {
	once   sync.Once
	closed chan struct{}
}

func (s *signal) raise() { s.once.Do(func() { close(s.closed) }) }

func newSubscriber(idle time.Duration, identity string) *subscriber {
	return &subscriber{
		identity: identity, notices: make(chan bind, noticeBacklog), idle: time.NewTimer(idle),
		overflow: signal{closed: make(chan struct{})}, superseded: signal{closed: make(chan struct{})},
	}
}

func (s *subscriber) send(stream publishStream) error {
	takes := &spaziov1.Notice{Event: &spaziov1.Notice_TakesHeartbeats{TakesHeartbeats: true}}
	if err := stream.Send(takes); err != nil {
		return err
	}
	for {
		select {
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case b := <-s.notices:
			notice := &spaziov1.Notice{Event: &spaziov1.Notice_PodBound{PodBound: &spaziov1.PodBound{
				Pod: uint64(b.pod), InitContainers: &b.inits,
			}}}
			if err := stream.Send(notice); err != nil {
				return err
			}
		}
	}
}

// offer queues a notice without ever waiting; a full queue ends the stream, and
// the agent starts over with a new one.
func (s *subscriber) offer(b bind) bool {
	select {
	case s.notices <- b:
		return true
	default:
		s.overflow.raise()
		return false
	}
}

// subscribe makes a stream that of a node, and says whether it is. It takes the
// place of another only if it is ahead, with a newer report: a stream of old ones
// must not cut the node's own agent off.
func (h *Hub) subscribe(n *node, sub *subscriber, ahead bool) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.name = n.name
	if sub.node == n || sub.closed {
		return !sub.closed
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stream != nil {
		if !ahead {
			return false
		}
		n.stream.superseded.raise()
	}
	sub.node, n.stream = n, sub
	return true
}

func (h *Hub) unsubscribe(sub *subscriber) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.closed = true
	if sub.node == nil {
		return
	}
	sub.node.mu.Lock()
	defer sub.node.mu.Unlock()
	if sub.node.stream == sub {
		sub.node.stream = nil
	}
}

// notify tells a node's agent that a pod was bound to it.
func (h *Hub) notify(name string, b bind) {
	n := h.nodes.get(name)
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stream != nil && n.stream.offer(b) {
		h.metrics.notice(noticeQueued)
	}
}
