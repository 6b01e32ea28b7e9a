package modelserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
)

// Config of a Server. The zero value of a field is its default.
type Config struct {
	// Aggregate sets how models are merged.
	Aggregate aggregate.Options
	// Tick is the time between two published models, default 500 ms: half of
	// the least interval at which a node pushes.
	Tick time.Duration
	// Queue bounds the nodes whose push waits for the next tick, default
	// 16,384. Beyond half of it they are merged without waiting for the tick. One
	// caller gets the share Aggregate.CallerShare of it, and of queueBytes.
	Queue int
	// Hold answers pushes without a model until Release is called: a replica
	// that starts empty beside others first asks them, and its nodes keep the
	// model they were last sent until then.
	Hold bool
	// Identify, if set, returns the node whose model the caller may push, empty for that
	// of any, or the call's status. What one caller may hold then counts by node. Which
	// methods a caller may call is decided where the server is registered. By default
	// callers are distinguished by address alone.
	Identify func(context.Context) (node string, err error)
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// OnError, if set, is called with what went wrong off the request path: a model
	// that the aggregate refused. It is called from several goroutines.
	OnError func(error)

	// replica is the random id by which other replicas know this one.
	replica uint64
	// queueBytes bounds what the waiting pushes take in memory, about.
	queueBytes int
}

// Validate returns an *field.Error for the first field out of range.
func (c Config) Validate() error {
	switch {
	case c.Tick < 0:
		return &field.Error{Package: "aggregate", Field: "Tick", Value: c.Tick, Err: aggregate.ErrRange}
	case c.Queue < 0:
		return &field.Error{Package: "aggregate", Field: "Queue", Value: c.Queue, Err: aggregate.ErrRange}
	}
	return c.Aggregate.Validate()
}

func (c Config) withDefaults() Config {
	c.Tick = cmp.Or(c.Tick, 500*time.Millisecond)
	c.Queue = cmp.Or(c.Queue, 16_384)
	c.queueBytes = cmp.Or(c.queueBytes, 32<<20)
	if c.Now == nil {
		c.Now = time.Now
	}
	for c.replica == 0 {
		c.replica = rand.Uint64()
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	return c
}

// Server answers pushes. Its methods are safe for concurrent use; Run is
// called once and must run for models to be merged.
type Server struct {
	spaziov1.UnimplementedModelServiceServer
	spaziov1.UnimplementedPeerServiceServer

	config    Config
	pushQueue *pushQueue
	published atomic.Pointer[publication]
	held      atomic.Bool
	readers   atomic.Int32              // of changes
	alive     atomic.Pointer[time.Time] // when it was made or last published

	countsMu sync.Mutex
	counts   stats // without what was published last

	// mu guards what merging works on. A push never takes it.
	mu        sync.Mutex
	aggregate *aggregate.Aggregator
	changed   bool // since the last publication
}

// New returns a Server without nodes.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	a, err := aggregate.New(c.Aggregate)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, aggregate: a, pushQueue: newPushQueue(c.Queue, c.queueBytes, c.Aggregate.WithDefaults().CallerShare)}
	s.published.Store(&publication{})
	made := time.Now()
	s.alive.Store(&made)
	s.held.Store(c.Hold)
	return s, nil
}

// release ends what Config.Hold began.
func (s *Server) release() { s.held.Store(false) }

// Ready reports whether pushes are answered with a published model: Run has published
// one, and answers are not held.
func (s *Server) Ready() bool { return !s.held.Load() && !s.published.Load().at.IsZero() }

// Push implements spaziov1.ModelServiceServer. It keeps the request's slices
// until the next tick, so the caller must not change them; gRPC does not.
func (s *Server) Push(ctx context.Context, request *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	local := request.GetLocal()
	caller, err := s.callerOf(ctx, local.GetNode())
	if err != nil {
		return nil, err
	}
	if err := api.CheckLocal(local); err != nil {
		s.count(&s.counts.Refused)
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	outcome := s.pushQueue.put(s.config.Now(), caller, local)
	if outcome == full {
		s.count(&s.counts.Overflowed)
		return nil, status.Errorf(codes.ResourceExhausted, "too much is waiting to be merged")
	}
	transport.Admit(ctx)
	s.count(&s.counts.Pushes)
	if outcome == replaced {
		s.count(&s.counts.Superseded)
	}
	if s.held.Load() {
		return nothing, nil
	}
	return s.published.Load().answer(local), nil
}

// callerOf returns the name under which a push counts: the caller's node, or its address
// where the node is not known; empty for a push within the process. An error is the
// status to refuse a push of node with.
func (s *Server) callerOf(ctx context.Context, node string) (string, error) {
	if s.config.Identify != nil {
		caller, err := s.config.Identify(ctx)
		switch {
		case err != nil:
			return "", err
		case caller != "" && caller != node:
			s.count(&s.counts.Foreign)
			return "", status.Errorf(codes.PermissionDenied, "an agent on node %q pushes the model of node %q", caller, node)
		case caller != "":
			return "node/" + caller, nil
		}
	}
	if addr := transport.CallerAddr(ctx); addr.IsValid() {
		return addr.String(), nil
	}
	return "", nil
}

// Run merges and publishes until ctx ends; then it merges what is waiting, for
// a last snapshot, and returns nil.
func (s *Server) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.config.Tick)
	defer ticker.Stop()
	s.tick() // what was restored is there for the first push
	for {
		select {
		case <-ctx.Done():
			s.locked(s.merge)
			return nil
		case <-s.pushQueue.crowded:
			s.locked(s.merge)
		case <-ticker.C:
			s.tick()
		}
	}
}

func (s *Server) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *Server) tick() {
	began := time.Now()
	s.refresh()
	s.alive.Store(&began)
}

// refresh publishes what has arrived by now. The clock is read first, so that
// what was pushed before Stats.At is in.
func (s *Server) refresh() {
	s.locked(func() {
		now := s.config.Now()
		s.merge()
		s.publish(now)
	})
}

// merge empties the queue.
func (s *Server) merge() {
	batch := s.pushQueue.swap()
	for i := range batch.pushes {
		put, err := s.aggregate.Put(batch.pushes[i].at, batch.pushes[i].local)
		switch {
		case err != nil:
			s.count(&s.counts.Dropped)
			if errors.Is(err, aggregate.ErrCentred) {
				s.count(&s.counts.Mixed)
			}
			s.config.OnError(err)
		case put:
			s.changed = true
		default:
			s.count(&s.counts.Stale)
		}
	}
}

// publish makes the answers of the next tick.
func (s *Server) publish(now time.Time) {
	globals, err := s.aggregate.Globals(now)
	if err != nil {
		s.config.OnError(fmt.Errorf("modelserver: publish: %w", err))
	}
	last := s.published.Load()
	nodes := s.aggregate.Len()
	next := &publication{at: now, version: last.version, nodes: nodes, globals: globals, answers: make(map[answerKey]*spaziov1.PushResponse, len(globals))}
	if s.changed || nodes != last.nodes {
		next.version++
	}
	s.changed = false
	for _, g := range globals {
		next.answers[answerKey{g.Schema, uint32(g.Dim), g.Model.Centred()}] = &spaziov1.PushResponse{Global: api.FromFleet(toFleet(g), next.version)}
	}
	s.published.Store(next)
}

// publication is what a tick has published; it does not change.
type publication struct {
	at      time.Time
	version uint64
	nodes   int
	globals []aggregate.Global
	answers map[answerKey]*spaziov1.PushResponse
}

type answerKey struct {
	schema  string
	dim     uint32
	centred bool
}

// nothing answers a push where the fleet has no model of its schema yet.
var nothing = &spaziov1.PushResponse{}

// answer is shared by all who ask: it is only ever encoded.
func (p *publication) answer(l *spaziov1.LocalModel) *spaziov1.PushResponse {
	if a, ok := p.answers[answerKey{l.GetSchema(), l.GetModel().GetDim(), len(l.GetModel().GetMean()) > 0}]; ok {
		return a
	}
	return nothing
}

func toFleet(g aggregate.Global) agent.Fleet {
	f := agent.Fleet{Schema: g.Schema, Model: g.Model, Nodes: g.Nodes, Costs: make([]agent.Cost, len(g.Costs))}
	for i, c := range g.Costs {
		f.Costs[i] = agent.Cost(c)
	}
	return f
}

// errLate reports that models are no longer being published.
var errLate = errors.New("no model was published")

// lateTicks is how many ticks the worker may miss before the server counts as
// unhealthy: an eigen-decomposition of the largest models takes milliseconds.
const lateTicks = 20

// Healthy returns an error if Run has not published for twenty ticks, by the
// clock of the machine: a process that is restarted then has better prospects.
func (s *Server) Healthy() error {
	if late := time.Since(*s.alive.Load()); late > lateTicks*s.config.Tick {
		return fmt.Errorf("modelserver: %w for %s", errLate, late.Round(time.Millisecond))
	}
	return nil
}

// readyPoll is how often readiness is looked at until it is there.
const readyPoll = 10 * time.Millisecond

// AwaitReady returns nil as soon as the server is Ready, or why ctx ended.
func (s *Server) AwaitReady(ctx context.Context) error {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for !s.Ready() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return nil
}
