package publish

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/node/build"
)

// UsagesConfig describes where the windows of a node's pods go.
type UsagesConfig struct {
	Node string
	// Incarnation grows at each start of the agent.
	Incarnation uint64
	// Targets are the profiler replicas as gRPC targets, each given once.
	Targets []string
	// Transport is the agent's identity and trust.
	Transport transport.Config
	// TokenFile holds the token that profilers ask for, empty for none. It is read
	// anew for each stream and needs TLS.
	TokenFile string
	// Backoff is the wait between attempts to reach one target; its Max is 30 s by
	// default, so that a profiler that was away is not come to by a whole fleet in 5 s.
	Backoff Backoff
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer
	// Logger gets one line per profiler that is lost or refuses; nil logs nothing.
	Logger *slog.Logger

	// linger is how long a connection is kept on which there is nothing to send, while
	// pods are so young that there soon will be; 0 means defaultLinger.
	linger time.Duration
}

// Validate returns a *field.Error, or what package transport refuses.
func (c UsagesConfig) Validate() error {
	for _, target := range c.Targets {
		if _, isName, _ := parseTarget(target); isName {
			return refuse("Targets", target, "profilers are not looked up: want host:port of each")
		}
	}
	return SignalsConfig{Targets: c.Targets, Transport: c.Transport, TokenFile: c.TokenFile, Backoff: c.backoff()}.Validate()
}

// usageBackoff is the longest wait by default. It is longer than an attempt to connect, so
// that one which failed is not taken for a stream that worked.
const usageBackoff = 30 * time.Second

func (c UsagesConfig) backoff() Backoff {
	b := c.Backoff
	b.Max = cmp.Or(b.Max, max(b.Min, usageBackoff))
	return b.withDefaults()
}

// defaultLinger is how long the first readings of a pod are apart at most: while pods
// start, the connection stays.
const defaultLinger = 5 * time.Second

// Usages sends windows to each profiler, by a log of its own. A node whose pods stay has
// something to say once a minute, so its connection is closed once that is answered: what
// thousands of idle ones take of a profiler's memory is more than all that it learns. It
// is safe for concurrent use; Run is called once.
type Usages struct {
	streams []*usageStream
	dropped prometheus.Counter
}

// NewUsages checks the config and prepares the streams; Run opens them when there is
// something to send.
func NewUsages(c UsagesConfig) (*Usages, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	dropped, err := build.Shared[prometheus.Counter](c.Registerer, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "spazio_agent_windows_dropped_total", Help: "Windows and readings of pods' usage that no profiler gets.",
	}))
	if err != nil {
		return nil, err
	}
	u := &Usages{dropped: dropped}
	for _, target := range c.Targets {
		options, err := dialOptions(target, c.Transport, c.TokenFile, usageConnectTimeout)
		if err != nil {
			return nil, err
		}
		u.streams = append(u.streams, &usageStream{
			target: target, options: options, backoff: c.backoff(), linger: cmp.Or(c.linger, defaultLinger), wake: make(chan struct{}, 1), lost: dropped,
			log:    agent.NewUsageLog(c.Node, c.Incarnation),
			logger: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)).With("profiler", target),
		})
	}
	return u, nil
}

// Take hands readings made at a time of the pipeline's to every stream and returns at
// once. Call it often, without readings too: windows wait for one another.
func (u *Usages) Take(at time.Time, readings []agent.PodReading) {
	for _, s := range u.streams {
		if lost := s.take(at, readings); lost > 0 {
			u.dropped.Add(float64(lost))
		}
	}
}

// Run keeps the streams until ctx ends and returns nil when all are closed.
func (u *Usages) Run(ctx context.Context) error {
	var streams sync.WaitGroup
	for _, s := range u.streams {
		streams.Go(func() { s.run(ctx) })
	}
	<-ctx.Done()
	streams.Wait()
	return nil
}

// usageStream is the way to one profiler.
type usageStream struct {
	target  string
	options []grpc.DialOption
	backoff Backoff
	linger  time.Duration
	logger  *slog.Logger
	wake    chan struct{} // holds a token while there may be a batch to send
	lost    prometheus.Counter

	mu      sync.Mutex
	log     *agent.UsageLog
	dropped uint64
	warned  bool // about a window that was refused
}

func (s *usageStream) take(at time.Time, readings []agent.PodReading) (lost uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Take(at, readings)
	if _, ok := s.log.Batch(at); ok {
		wake(s.wake)
	}
	d := s.log.Dropped()
	lost, s.dropped = d.Windows+d.Readings-s.dropped, d.Windows+d.Readings
	return lost
}

// next returns the batch under way.
func (s *usageStream) next() (agent.UsageBatch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Unacknowledged()
}

func (s *usageStream) run(ctx context.Context) {
	reconnect(ctx, s.backoff, s.session, func(err error, first bool) {
		refused := (*refusedError)(nil)
		switch {
		case !first:
		case errors.As(err, &refused):
			s.logger.Error("profiler refuses a batch; its windows are dropped", "windows", refused.windows, "error", err)
		default:
			s.logger.Warn("no stream to the profiler; trying again", "error", err)
		}
	})
}

// session delivers batches as they come until that fails or ctx ends, beginning with
// the one that was not acknowledged.
func (s *usageStream) session(ctx context.Context) error {
	for {
		if _, ok := s.next(); !ok {
			select {
			case <-ctx.Done():
				return nil
			case <-s.wake:
				continue
			}
		}
		if err := s.deliver(ctx); err != nil {
			return err
		}
	}
}

// quiet reports whether there is nothing to send, and will not be soon.
func (s *usageStream) quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Quiet()
}

// deliver opens a stream and sends batches on it until none is to come soon.
func (s *usageStream) deliver(ctx context.Context) error {
	connection, err := grpc.NewClient(s.target, s.options...)
	if err != nil {
		return err
	}
	defer connection.Close()
	report, err := spaziov1.NewUsageServiceClient(connection).Report(ctx)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.receive(report) }()
	sent, err := s.send(report, ended)
	if status.Code(err) == codes.InvalidArgument {
		return s.drop(sent, err)
	}
	return err
}

var errEnded = errors.New("the profiler closed the stream")

// send returns when receiving has ended, with the reason, or nil after there was nothing
// to send and nothing to wait for; and the sequence number of the batch that was sent last.
func (s *usageStream) send(report spaziov1.UsageService_ReportClient, ended <-chan error) (sent uint64, err error) {
	idle := time.NewTimer(s.linger)
	defer idle.Stop()
	for {
		switch b, waits := s.next(); {
		case waits && b.Sequence != sent:
			sent = b.Sequence
			if report.Send(api.FromUsage(b)) != nil {
				return sent, <-ended
			}
			idle.Reset(s.linger)
		case !waits && s.quiet():
			return sent, hangUp(report, ended)
		}
		select {
		case err := <-ended:
			return sent, err
		case <-s.wake:
		case <-idle.C:
			return sent, hangUp(report, ended)
		}
	}
}

// hangUp ends a stream, once the profiler has answered what it was sent.
func hangUp(report spaziov1.UsageService_ReportClient, ended <-chan error) error {
	_ = report.CloseSend()
	if err := <-ended; !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// refusedError is why a batch was given up.
type refusedError struct {
	windows int
	err     error
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// drop gives up the batch under way if it is the one that was sent last on the stream
// that ended: what a profiler can't read it refuses each time.
func (s *usageStream) drop(sent uint64, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.log.Unacknowledged()
	if !ok || b.Sequence != sent {
		return why
	}
	s.log.Acknowledge(b.Incarnation, b.Sequence)
	s.lost.Add(float64(len(b.Windows)))
	return &refusedError{len(b.Windows), why}
}

// acknowledge reports whether that leaves nothing to wait for; take wakes the stream for what
// is to be sent next. Windows that the profiler refused count as dropped and are not sent again: it
// would refuse them each time.
func (s *usageStream) acknowledge(ack *spaziov1.UsageAck) (quiet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Acknowledge(ack.GetIncarnation(), ack.GetSequence())
	if n := len(ack.GetRefused()); n > 0 {
		s.lost.Add(float64(n))
		if !s.warned {
			s.warned = true
			s.logger.Error("profiler refuses windows of a batch; further ones are only counted", "windows", n, "error", ack.GetRefusal())
		}
	}
	return s.log.Quiet()
}

func (s *usageStream) receive(report spaziov1.UsageService_ReportClient) error {
	for {
		ack, err := report.Recv()
		if errors.Is(err, io.EOF) {
			return errEnded
		}
		if err != nil {
			return err
		}
		if s.acknowledge(ack) {
			wake(s.wake)
		}
	}
}
