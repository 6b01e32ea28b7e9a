// Package usageserver is the gRPC UsageService over a profiler's Store: agents stream
// what the pods of their node take.
//
//	server := usageserver.New(store, usageserver.Config{})
//	spaziov1.RegisterUsageServiceServer(grpcServer, server)
//
// A batch is checked, given to the store and acknowledged; what becomes of each
// window the store counts. A window that is out of range is left out, and the
// acknowledgement names it; its neighbours are kept. A malformed batch ends the stream
// with InvalidArgument and the name of the field, one of another node than the caller's
// with PermissionDenied; neither changes anything. A node may have four streams, and send twenty batches a
// second on all of them together: a faster one waits.
//
// Types that do not speak of concurrent use are plain values.
package usageserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// Config of a Server. The zero value of a field is its default.
type Config struct {
	// Identify, if set, says who opened a stream; an error of it is the status to
	// end it with. Batches are then taken of the caller's own node alone. By
	// default no one is asked.
	Identify func(context.Context) (Caller, error)
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// Logger gets one line about the first window that is refused; the rest are counted.
	// Nil logs nothing.
	Logger *slog.Logger
}

// Caller is who opened a stream.
type Caller struct {
	// Node is the one that the caller may speak of; empty is any.
	Node string
}

const (
	// streamsOfOne lets an agent come again before its former stream is known to
	// have ended.
	streamsOfOne = 4
	// batchesOfOne a second are far from an agent's one.
	batchesOfOne, burstOfOne = 20, 40
)

// Server answers agents. It is safe for concurrent use.
type Server struct {
	spaziov1.UnimplementedUsageServiceServer
	config Config
	store  *profiler.Store
	wake   chan struct{}
	counts struct{ batches, refused, foreign, windows atomic.Uint64 }
	warned sync.Once

	mu    sync.Mutex
	nodes map[string]*node
}

// node bounds the streams of one.
type node struct {
	streams int
	turns   *rate.Limiter
}

// Stats is what a Server has heard.
type Stats struct {
	// Batches were given to the store, Refused ones were malformed, and Foreign ones
	// of another node than the caller's.
	Batches, Refused, Foreign uint64
	// RefusedWindows were out of range; the rest of their batches was taken.
	RefusedWindows uint64
}

// New returns a Server of a store.
func New(store *profiler.Store, c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{config: c, store: store, wake: make(chan struct{}, 1), nodes: map[string]*node{}}
}

// Heard has a token after windows have come. It is for one receiver, such as a controller's
// Config.Heard.
func (s *Server) Heard() <-chan struct{} { return s.wake }

// Stats returns the counts.
func (s *Server) Stats() Stats {
	return Stats{Batches: s.counts.batches.Load(), Refused: s.counts.refused.Load(), Foreign: s.counts.foreign.Load(), RefusedWindows: s.counts.windows.Load()}
}

// Report implements spaziov1.UsageServiceServer.
func (s *Server) Report(stream grpc.BidiStreamingServer[spaziov1.UsageBatch, spaziov1.UsageAck]) error {
	caller := Caller{}
	if s.config.Identify != nil {
		var err error
		if caller, err = s.config.Identify(stream.Context()); err != nil {
			return err
		}
	}
	name, turns := "", (*rate.Limiter)(nil)
	defer func() { s.leave(name) }()
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b, ack, err := api.ToUsage(m)
		if err != nil {
			s.counts.refused.Add(1)
			return status.Error(codes.InvalidArgument, err.Error())
		}
		if caller.Node != "" && caller.Node != b.Node || name != "" && name != b.Node {
			s.counts.foreign.Add(1)
			return status.Errorf(codes.PermissionDenied, "an agent on node %q tells what pods of node %q take", caller.Node+name, b.Node)
		}
		if name == "" {
			if turns = s.enter(b.Node); turns == nil {
				return status.Errorf(codes.ResourceExhausted, "node %q has %d streams", b.Node, streamsOfOne)
			}
			name = b.Node
			transport.Admit(stream.Context())
		}
		if err := turns.Wait(stream.Context()); err != nil {
			return status.FromContextError(err).Err()
		}
		s.counts.batches.Add(1)
		s.countRefused(b.Node, ack)
		s.store.Windows(s.config.Now(), b)
		select {
		case s.wake <- struct{}{}:
		default:
		}
		if err := stream.Send(ack); err != nil {
			return err
		}
	}
}

// countRefused counts windows that were refused, and logs the first of all.
func (s *Server) countRefused(node string, ack *spaziov1.UsageAck) {
	if len(ack.Refused) == 0 {
		return
	}
	s.counts.windows.Add(uint64(len(ack.Refused)))
	s.warned.Do(func() {
		s.config.Logger.Warn("a window of a pod's usage is out of range and left out; more are counted only", "node", node, "error", ack.Refusal)
	})
}

// enter counts a stream of a node and returns its turns, nil if it has too many.
func (s *Server) enter(name string) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[name]
	if n == nil {
		n = &node{turns: rate.NewLimiter(batchesOfOne, burstOfOne)}
		s.nodes[name] = n
	}
	if n.streams >= streamsOfOne {
		return nil
	}
	n.streams++
	return n.turns
}

func (s *Server) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[name]; n != nil {
		if n.streams--; n.streams <= 0 {
			delete(s.nodes, name)
		}
	}
}
