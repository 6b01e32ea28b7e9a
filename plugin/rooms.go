package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/api/kube/identity"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
)

const (
	// roomPeriod is the time between two updates of the nodes' rooms.
	roomPeriod = time.Second
	// maxWatchers bounds the streams of rooms, in all and of one address: each keeps
	// what it has sent of every node. A controller has one for each replica.
	maxWatchers, maxWatchersOfOne = 32, 8
)

// roomServer streams rooms. Safe for concurrent use.
type roomServer struct {
	spaziov1.UnimplementedRoomServiceServer
	hub *Hub
	// ctx is the scheduler's: a handler gets no other sign of shutdown.
	ctx context.Context
}

// Watch sends the rooms of all nodes and then, once a period, of those that have
// changed, until either side ends, the scheduler stops, or the caller's token no longer
// counts. What a caller does not read waits in no queue: it gets the newest when it
// reads again.
func (s *roomServer) Watch(_ *spaziov1.WatchRooms, stream grpc.ServerStreamingServer[spaziov1.Rooms]) error {
	h, ctx := s.hub, stream.Context()
	who, end, err := h.admitWatcher(ctx)
	if err != nil {
		return err
	}
	defer end()
	tick := time.NewTicker(h.options.roomPeriod)
	defer tick.Stop()
	review := time.NewTimer(h.untilReview(h.controllers, who))
	defer review.Stop()
	var expired <-chan time.Time
	if !who.Until.IsZero() {
		expired = time.After(time.Until(who.Until))
	}
	var sent roomLog
	for {
		if h.synced.Load() {
			for _, part := range sent.update(h) {
				if err := stream.Send(part); err != nil {
					return err
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-s.ctx.Done():
			return status.Error(errStopping.code, errStopping.message)
		case <-expired:
			return status.Error(errExpired.code, errExpired.message)
		case <-review.C:
			if who, err = h.review(ctx, h.controllers, who); err != nil {
				return err
			}
			review.Reset(h.untilReview(h.controllers, who))
		}
	}
}

// admitWatcher returns the caller that opened a stream of rooms, and what to call at its end, or
// the status to refuse it with.
func (h *Hub) admitWatcher(ctx context.Context) (who identity.Agent, end func(), err error) {
	caller := transport.CallerAddr(ctx)
	if !h.unauthenticated.Acquire(caller) {
		return who, nil, status.Error(codes.ResourceExhausted, "too many streams of unknown callers")
	}
	defer h.unauthenticated.Release(caller)
	if h.controllers == nil && h.identities != nil {
		return who, nil, status.Error(codes.PermissionDenied, "rooms cannot be read because controllerServiceAccount is not set")
	}
	if who, err = h.identify(ctx, h.controllers); err != nil {
		return who, nil, err
	}
	if !h.watchers.Acquire(caller) {
		return who, nil, status.Error(codes.ResourceExhausted, "too many streams of rooms")
	}
	transport.Admit(ctx)
	return who, func() { h.watchers.Release(caller) }, nil
}

// roomLog is what a stream has sent of each node.
type roomLog struct{ rooms map[string]api.Room }

// update returns the messages with what has changed, one at least; the first time
// they have all nodes.
func (l *roomLog) update(h *Hub) []*spaziov1.Rooms {
	first := l.rooms == nil
	if first {
		l.rooms = make(map[string]api.Room)
	}
	d, now := h.nodes.list(), h.moment().Now
	var changed []api.Room
	for _, n := range d.nodes {
		room := roomOf(n.name, n.view.Load(), now)
		if before, known := l.rooms[n.name]; !known || before != room {
			changed = append(changed, room)
		}
		l.rooms[n.name] = room
	}
	var gone []string
	if len(l.rooms) > len(d.nodes) {
		for name := range l.rooms {
			if _, there := d.places[name]; !there {
				gone = append(gone, name)
				delete(l.rooms, name)
			}
		}
		slices.Sort(gone)
	}
	return inParts(first, changed, gone)
}

// inParts cuts an update into messages that a client takes.
func inParts(full bool, rooms []api.Room, gone []string) (parts []*spaziov1.Rooms) {
	for more := true; more; full = false {
		part := api.Rooms{Full: full, Rooms: rooms[:min(len(rooms), api.MaxRooms)], Gone: gone[:min(len(gone), api.MaxRooms)]}
		rooms, gone = rooms[len(part.Rooms):], gone[len(part.Gone):]
		more = len(rooms)+len(gone) > 0
		part.More = more
		parts = append(parts, api.FromRooms(part))
	}
	return parts
}

// roomOf returns the room of a node as seen in v at a time.
func roomOf(name string, v *view, now time.Duration) api.Room {
	room := api.Room{Node: name, InFlight: v.Flight.Demand, Held: v.Flight.Held}
	if r := v.report; r != nil {
		room.Avail, room.Fresh, room.Saturated = r.Avail, v.fresh(now), r.Saturated
		// Where Pronto decides it is not known how many fit.
		room.CostKnown = !r.Flags.CostUnknown && !r.Flags.WarmingUp && r.Limiting != agent.LimitingPronto
	}
	return room
}

// reviewers makes the clients that ask the API server for the identity of agents and controllers,
// if they are configured.
func (h *Hub) reviewers(args SpazioArgs, handle Cluster) error {
	if args.AgentServiceAccount == "" && args.ControllerServiceAccount == "" {
		return nil
	}
	config, err := reviewConfig(args.ReviewKubeconfig, handle)
	if err != nil {
		return err
	}
	client, err := authentication.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client for token reviews: %w", err)
	}
	c := identity.Config{Reviews: client.TokenReviews(), Audience: args.TokenAudience, Fresh: h.options.review}
	if args.ControllerServiceAccount != "" {
		c.ServiceAccount, c.Unbound = args.ControllerServiceAccount, true
		h.controllers = identity.NewReviewer(c)
	}
	if args.AgentServiceAccount != "" {
		c.ServiceAccount, c.Unbound = args.AgentServiceAccount, false
		c.Node = func(name string) bool { return !h.synced.Load() || h.nodes.get(name) != nil }
		h.identities = identity.NewReviewer(c)
	}
	return nil
}

const (
	// reviewRate lets the agents of the largest clusters reconnect within seconds of a restart.
	reviewRate, reviewBurst = 1000, 2000
	// reviewDial is client-go's own timeout and keep-alive.
	reviewDial = 30 * time.Second
)

// reviewConfig returns the configuration of a separate client. After a restart, and whatever
// unauthenticated callers present, reviews must take neither the rate limit of the scheduler's
// bindings nor the streams of its connection, and with a kubeconfig not the API server's share
// for its identity either.
func reviewConfig(kubeconfig string, handle Cluster) (*rest.Config, error) {
	config := handle.KubeConfig()
	if kubeconfig != "" {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return nil, fmt.Errorf("reviewKubeconfig: %w", err)
		}
	}
	if config == nil {
		return nil, errNoKubeConfig
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = reviewRate, reviewBurst, nil
	if config.Dial == nil { // client-go shares connections of the same dialer
		config.Dial = (&net.Dialer{Timeout: reviewDial, KeepAlive: reviewDial}).DialContext
	}
	return config, nil
}

var errNoKubeConfig = errors.New("agentServiceAccount needs a scheduler whose handle has the configuration of its client")

// identify returns the identity of a stream's caller, as the reviewer finds it; a nil reviewer
// accepts every caller. An error is the status that ends the stream.
func (h *Hub) identify(ctx context.Context, by *identity.Reviewer) (identity.Agent, error) {
	if by == nil {
		return identity.Agent{}, nil
	}
	agent, err := by.Identify(ctx, transport.CallerAddr(ctx), identity.Bearer(ctx))
	result, end := identity.Judge(err)
	h.metrics.identities[result].Inc()
	return agent, end
}

const (
	// soonest is the minimum time between two reviews of an open stream's token. While the API
	// server is away, a reviewer would be ready to try again much sooner.
	soonest = time.Minute
	// spread keeps the reviews apart of streams that all began with a scheduler's start.
	spread = 30 * time.Second
)

// untilReview returns how long it takes until an open stream's token is reviewed again: until the
// API server's last answer no longer counts, or forever without a reviewer.
func (h *Hub) untilReview(by *identity.Reviewer, a identity.Agent) time.Duration {
	if by == nil {
		return math.MaxInt64
	}
	if h.options.review > 0 {
		return max(time.Until(a.Review), h.options.review)
	}
	return max(time.Until(a.Review), soonest) + rand.N(spread)
}

// review checks again whose stream it is, and returns the identity with the time until which it
// counts. The API server's refusal is an error, its absence is not.
func (h *Hub) review(ctx context.Context, by *identity.Reviewer, agent identity.Agent) (identity.Agent, error) {
	again, err := h.identify(ctx, by)
	switch code := status.Code(err); {
	case code == codes.Unauthenticated || code == codes.PermissionDenied:
		return agent, err
	case err == nil:
		return again, nil
	}
	return agent, nil
}
