package plugin

import (
	"context"
	"net"
	"slices"
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
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
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
	if s.hub.silent {
		sub.notices.close()
	}
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

// closeStream returns the status of a stream that the scheduler ended.
func (h *Hub) closeStream(why *closeReason) error {
	if why.label != "" {
		h.metrics.closings[why.label].Inc()
	}
	return status.Error(why.code, why.message)
}

// keepStream handles each valid report or heartbeat; result is what came of it.
func (h *Hub) keepStream(n *node, sub *subscriber, result string) {
	if h.subscribe(n, sub, result != reportOutdated) {
		sub.idle.Reset(h.args.IdleTimeout.Duration)
		sub.admit()
	}
}

// bindOf returns the notice of a pod's bind; its Demand is what decisions assume that the pod
// takes.
func (h *Hub) bindOf(key reserve.PodKey, pod *v1.Pod) agent.Bind {
	b := agent.Bind{Pod: key, Inits: len(pod.Spec.InitContainers), InitsKnown: true}
	if !h.rules.byDemand {
		return b
	}
	if k := h.knowledge(pod); k.decides {
		b.Demand = k.demand
		h.workloads.predict(key, b.Demand)
	}
	return b
}

// subscribe makes a stream that of a node, and reports whether it is. It replaces another stream
// only if it is ahead, with a newer report: a stream of old reports must not cut off the node's
// own agent.
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
		n.stream.end(errSuperseded)
	}
	sub.node, n.stream = n, sub
	h.sendPlaceholdersLocked(n)
	h.introduce(n)
	return true
}

// byNode is the index of pods by node.
const byNode = "spazio-scheduler.github.io/node"

// introduce sends the agent of n, whose mutex is held, what its pods are known to take: those
// that it lists and those in flight. The agent must not expect a pod to start that has ended.
func (h *Hub) introduce(n *node) {
	if !h.rules.byDemand || h.profiling.off() || n.stream == nil || n.report == nil {
		return
	}
	pods, err := h.podIndex.ByIndex(byNode, n.name)
	if err != nil {
		return // there is no such index before the first New
	}
	var binds []agent.Bind
	for _, object := range pods {
		pod, ok := object.(*v1.Pod)
		if !ok || objects.IsTerminal(pod) || objects.IsMirror(pod) {
			continue
		}
		key := reserve.KeyOf(string(pod.UID))
		known, claimed := h.ledger.Pod(key)
		if !claimed || known.Node != n.name || known.Confirmed && !slices.Contains(n.report.Pods, key) {
			continue
		}
		if b := h.bindOf(key, pod); b.Demand != (profile.Demand{}) {
			binds = append(binds, b)
		}
	}
	n.stream.enqueueAll(binds)
}

// introduceAll introduces the pods of all nodes.
func (h *Hub) introduceAll() {
	for _, n := range h.nodes.list().nodes {
		n.mu.Lock()
		h.introduce(n)
		n.mu.Unlock()
	}
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

// notify sends a node's agent the notice of a pod that was bound to the node.
func (h *Hub) notify(name string, b agent.Bind) {
	n := h.nodes.get(name)
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stream != nil {
		n.stream.enqueue(b)
	}
}

type publishStream = grpc.BidiStreamingServer[spaziov1.Report, spaziov1.Notice]

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

// noticeBacklog is how many notices may wait for an agent: more than the pods that a node gets in
// the seconds for which a healthy agent may pause.
const noticeBacklog = 64

// subscriber is one stream. A node has at most one: the newest.
type subscriber struct {
	// identity is the only node whose reports are accepted; empty accepts any.
	identity string
	// name and node are set by the receiving goroutine at the first report; node
	// changes if the API's node was deleted and made again. base is the last full
	// report of the stream.
	name   string
	base   version
	mu     sync.Mutex
	node   *node
	closed bool
	// admit is called with each report of a stream that is its node's.
	admit func()
	// leave is set by admit, and called when the last report has been received.
	leave func()
	// idle fires when the stream has brought no such report for too long.
	idle    *time.Timer
	stream  publishStream
	notices outbox
	// ended holds the reason why the scheduler ends the stream.
	ended chan *closeReason
	// spawn starts a goroutine that the Hub waits for.
	spawn func(func())
}

// outbox holds the notices that wait to be sent. A goroutine sends them only while there are
// some, because most agents get none most of the time.
type outbox struct {
	mu    sync.Mutex
	binds []agent.Bind
	// many is how many notices of a node's pods were queued at once; they do not count towards
	// noticeBacklog.
	many int
	// placeholders is the newest set of placeholders, nil once it was sent. It replaces the sets before it
	// and does not count towards noticeBacklog.
	placeholders *[]reserve.PodKey
	sending      bool
	closed       bool
}

func newSubscriber(stream publishStream, identity string, spawn func(func())) *subscriber {
	return &subscriber{identity: identity, stream: stream, spawn: spawn, ended: make(chan *closeReason, 1)}
}

// end ends the stream; only the first reason counts.
func (s *subscriber) end(why *closeReason) {
	select {
	case s.ended <- why:
	default:
	}
}

// enqueue queues a notice without ever waiting. A full queue ends the stream, and the agent starts
// over with a new one.
func (s *subscriber) enqueue(b agent.Bind) {
	s.update(func(o *outbox) {
		if len(o.binds) >= noticeBacklog+o.many {
			s.end(errSlow)
			return
		}
		o.binds = append(o.binds, b)
	})
}

// enqueueAll queues the notices of all of a node's pods, once or twice a stream.
func (s *subscriber) enqueueAll(binds []agent.Bind) {
	if len(binds) == 0 {
		return
	}
	s.update(func(o *outbox) { o.binds, o.many = append(o.binds, binds...), len(binds) })
}

// enqueuePlaceholders queues the node's set of placeholders.
func (s *subscriber) enqueuePlaceholders(pods []reserve.PodKey) {
	s.update(func(o *outbox) { o.placeholders = &pods })
}

// update edits the outbox, unless it is closed, and makes sure that its notices are being sent.
func (s *subscriber) update(edit func(*outbox)) {
	o := &s.notices
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	edit(o)
	if !o.sending {
		o.sending = true
		s.spawn(s.send)
	}
}

// send sends notices until none is left or the stream ends.
func (s *subscriber) send() {
	for {
		placeholders, binds := s.notices.take()
		if placeholders == nil && len(binds) == 0 {
			return
		}
		var notices []*spaziov1.Notice
		if placeholders != nil {
			notices = append(notices, &spaziov1.Notice{Event: &spaziov1.Notice_GhostPods{GhostPods: api.FromPlaceholders(*placeholders)}})
		}
		for _, b := range binds {
			notices = append(notices, &spaziov1.Notice{Event: &spaziov1.Notice_PodBound{PodBound: api.FromBind(b)}})
		}
		for _, notice := range notices {
			if s.stream.Send(notice) != nil {
				s.notices.close() // the receiver learns why
				return
			}
		}
	}
}

// take empties the outbox. A sender that gets no notice must end, because the next notice starts
// a goroutine of its own.
func (o *outbox) take() (placeholders *[]reserve.PodKey, binds []agent.Bind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	placeholders, binds = o.placeholders, o.binds
	o.placeholders, o.binds = nil, nil
	o.sending = (placeholders != nil || len(binds) > 0) && !o.closed
	if o.closed {
		return nil, nil
	}
	return placeholders, binds
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}
