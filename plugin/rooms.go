package plugin

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
	tick := time.NewTicker(h.options.Rooms)
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
type roomLog struct {
	rooms map[string]sentRoom
	round uint64
}

type sentRoom struct {
	api.Room
	// round is the last in which there was such a node.
	round uint64
}

// update returns the messages with what has changed, one at least; the first time
// they have all nodes.
func (l *roomLog) update(h *Hub) []*spaziov1.Rooms {
	first := l.rooms == nil
	if first {
		l.rooms = make(map[string]sentRoom)
	}
	l.round++
	nodes, now := h.nodes.list().nodes, h.moment().Now
	var changed []api.Room
	for _, n := range nodes {
		room := roomOf(n.name, n.view.Load(), now)
		if before, known := l.rooms[n.name]; !known || before.Room != room {
			changed = append(changed, room)
		}
		l.rooms[n.name] = sentRoom{room, l.round}
	}
	var gone []string
	if len(l.rooms) > len(nodes) {
		for name, room := range l.rooms {
			if room.round != l.round {
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
