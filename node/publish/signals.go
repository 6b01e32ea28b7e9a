package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// maxTargets bounds the streams of an agent, and with them its memory and the
// series of its metrics: of a name that stands for more replicas a warning is in the
// log. A scheduler has a handful.
const maxTargets = 64

// SignalsConfig describes where reports go.
type SignalsConfig struct {
	// Targets are the scheduler replicas, each given once: a gRPC target is one
	// replica, dns:///host:port one for each address that the name has, as a
	// headless service of Kubernetes does. TLS certificates of the latter are
	// checked against the name.
	Targets []string
	// Refresh is how often names are looked up; default 30 s. They are looked up
	// ahead of time, at most once a second, when a stream fails.
	Refresh time.Duration
	// Resolver looks the names up; nil is the system's, in Go.
	Resolver Resolver
	// Transport is the agent's identity and trust.
	Transport transport.Config
	// TokenFile holds the token that schedulers ask for, empty for none. It is
	// read anew for each stream. It needs TLS, and goes to no aggregator: who has
	// it can report on this node.
	TokenFile string
	// Backoff is the wait between attempts to reach one target.
	Backoff Backoff
	// OnNotice, if set, gets each notice of a scheduler. It is called from one
	// goroutine per target and must not block.
	OnNotice func(target string, notice *spaziov1.Notice)
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer
	// Logger gets one line per lost or regained scheduler; nil logs nothing.
	Logger *slog.Logger
}

// Validate returns a *field.Error, or what package transport refuses.
func (c SignalsConfig) Validate() error {
	if len(c.Targets) > maxTargets {
		return refuse("Targets", len(c.Targets), "too many")
	}
	if c.Refresh < 0 {
		return refuse("Refresh", c.Refresh, "negative")
	}
	seen := map[string]bool{}
	for _, target := range c.Targets {
		if target == "" || seen[target] {
			return refuse("Targets", c.Targets, "an empty or repeated target")
		}
		seen[target] = true
		if _, _, err := parseTarget(target); err != nil {
			return err
		}
		if _, err := transport.DialOptions(target, c.Transport); err != nil {
			return err
		}
	}
	if c.TokenFile != "" && !c.Transport.Encrypted() {
		return refuse("TokenFile", c.TokenFile, "a token is not sent in plaintext")
	}
	return c.Backoff.validate()
}

// Signals keeps one stream of reports to each scheduler. It is safe for
// concurrent use; Run is called once.
type Signals struct {
	config    SignalsConfig
	refresh   time.Duration
	resolver  Resolver
	metrics   *signalMetrics
	logger    *slog.Logger
	connected atomic.Int32
	listed    []*stream
	finders   []*finder

	mu      sync.Mutex
	streams map[string]*stream // by target or endpoint
	latest  *dated
}

// NewSignals checks the config and prepares the streams; Run opens them.
func NewSignals(c SignalsConfig) (*Signals, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	metrics, err := newSignalMetrics(c.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Signals{
		config:   c,
		refresh:  cmp.Or(c.Refresh, 30*time.Second),
		resolver: c.Resolver,
		metrics:  metrics,
		logger:   cmp.Or(c.Logger, slog.New(slog.DiscardHandler)),
		streams:  map[string]*stream{},
	}
	if s.resolver == nil {
		s.resolver = &net.Resolver{PreferGo: true}
	}
	for _, target := range c.Targets {
		if service, isName, _ := parseTarget(target); isName {
			s.finders = append(s.finders, &finder{
				signals: s, service: service, failed: make(chan struct{}, 1), logger: s.logger.With("name", target),
			})
			continue
		}
		one, err := s.add(target, target)
		if err != nil {
			return nil, err
		}
		s.listed = append(s.listed, one)
	}
	return s, nil
}

var (
	errStreaming = errors.New("publish: there is a stream to it already")
	errFull      = fmt.Errorf("publish: more than %d schedulers", maxTargets)
)

// add makes the stream of a target or endpoint that is dialled by the gRPC
// target dial. The stream begins with the newest report there is.
func (s *Signals) add(target, dial string, more ...grpc.DialOption) (*stream, error) {
	options, err := dialOptions(dial, s.config.Transport, s.config.TokenFile, connectTimeout)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.streams[target] != nil:
		return nil, errStreaming
	case len(s.streams) >= maxTargets:
		return nil, errFull
	}
	one := &stream{
		target:   target,
		dial:     dial,
		options:  append(options, more...),
		backoff:  s.config.Backoff.withDefaults(),
		onNotice: s.config.OnNotice,
		metrics:  s.metrics.acquire(target),
		count:    &s.connected,
		logger:   s.logger.With("scheduler", target),
		wake:     make(chan struct{}, 1),
	}
	if s.latest != nil {
		one.put(s.latest)
	}
	s.streams[target] = one
	return one, nil
}

func (s *Signals) remove(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, one.target)
	s.metrics.release(one.target)
}

// Send hands the report, whose newest sample was taken at sampled by time.Now,
// to every stream and returns at once. A stream that is busy or down keeps the
// newest report alone; however late it goes out, it carries the sample's age.
// Reports are sent in the order of the calls, which should be that of their
// sequence numbers.
func (s *Signals) Send(r agent.Report, sampled time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = &dated{r, sampled}
	for _, one := range s.streams {
		one.put(s.latest)
	}
}

// Connected is the number of schedulers with an open stream.
func (s *Signals) Connected() int { return int(s.connected.Load()) }

// Run keeps the streams until ctx ends and returns nil when all are closed.
func (s *Signals) Run(ctx context.Context) error {
	var streams, finders sync.WaitGroup
	for _, one := range s.listed {
		streams.Go(func() {
			defer s.remove(one)
			one.run(ctx)
		})
	}
	for _, f := range s.finders {
		finders.Go(func() { f.run(ctx, &streams) })
	}
	<-ctx.Done()
	finders.Wait() // they start streams
	streams.Wait()
	return nil
}

// stream is the way to one scheduler. Every attempt gets a connection of its
// own, so that the only backoff is ours.
type stream struct {
	target   string // in the log, in metrics and for OnNotice
	dial     string // gRPC target
	options  []grpc.DialOption
	backoff  Backoff
	onNotice func(string, *spaziov1.Notice)
	metrics  *targetMetrics
	count    *atomic.Int32 // of open streams
	failed   chan struct{} // if set, gets a token after each failure
	logger   *slog.Logger

	slot slot
	wake chan struct{}
}

// dated is a report with the time of its newest sample, which has a monotonic
// reading: how old a sample is must not depend on a clock that is set. It is
// never changed.
type dated struct {
	report  agent.Report
	sampled time.Time
}

// age is how old the newest sample is at now.
func (d *dated) age(now time.Time) time.Duration { return max(0, now.Sub(d.sampled)) }

// slot holds the newest report and what the open stream, if there is one, has
// carried.
type slot struct {
	mu         sync.Mutex
	latest     *dated
	heartbeats heartbeats
}

// report returns what the stream's heartbeats are decided on; mu is held.
func (s *slot) report() *agent.Report {
	if s.latest == nil {
		return nil
	}
	return &s.latest.report
}

// put returns whether the report took the place of one that should have been
// sent, and whether it is due itself.
func (s *slot) put(r *dated) (missed, due bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	former, _ := s.heartbeats.next(s.report(), now)
	s.latest = r
	_, at := s.heartbeats.next(s.report(), now)
	return former == full, !at.After(now)
}

// reset is for the end of a stream: the next has carried nothing.
func (s *slot) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heartbeats = heartbeats{}
}

func (s *slot) accept() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heartbeats.accept()
}

// next returns the message that is due at now, with the age of its sample, and
// counts it as sent. If none is, it returns how long that will last, 0 for until
// the next report.
func (s *slot) next(now time.Time) (m *spaziov1.Report, age, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.report()
	kind, at := s.heartbeats.next(r, now)
	if wait = at.Sub(now); wait > 0 || kind == nothing {
		return nil, 0, max(wait, 0)
	}
	s.heartbeats.sent(kind, r, now, rand.Float64())
	age = s.latest.age(now)
	if kind == heartbeat {
		return api.FromHeartbeat(api.Heartbeat{Sequence: r.Sequence, Unchanged: s.heartbeats.sequence(), SampleAge: age}), age, 0
	}
	m = api.FromReport(*r)
	m.SampleAgeNanos = age.Nanoseconds()
	return m, age, 0
}

func (s *stream) put(r *dated) {
	missed, due := s.slot.put(r)
	if missed {
		s.metrics.missed.Inc()
	}
	if due {
		wake(s.wake)
	}
}

func (s *stream) run(ctx context.Context) {
	reconnect(ctx, s.backoff, s.session, func(err error, first bool) {
		s.metrics.failures.Inc()
		if s.failed != nil {
			wake(s.failed)
		}
		if first {
			s.logger.Warn("no stream to the scheduler; trying again", "error", err)
		}
	})
}

// session opens the stream and sends what Heartbeats decides for the newest report,
// until the stream or ctx ends.
func (s *stream) session(ctx context.Context) error {
	connection, err := grpc.NewClient(s.dial, s.options...)
	if err != nil {
		return err
	}
	defer connection.Close()
	publish, err := spaziov1.NewSignalServiceClient(connection).Publish(ctx)
	if err != nil {
		return err
	}
	s.logger.Debug("stream to the scheduler is open")
	s.count.Add(1)
	defer s.count.Add(-1)
	s.metrics.connected.Inc()
	defer s.metrics.connected.Dec()
	defer s.slot.reset()
	ended := make(chan error, 1)
	go func() { ended <- s.receive(publish) }()
	return s.send(publish, ended)
}

// send returns when receiving has ended, with the reason: a failed Send ends
// the stream too, and Recv alone returns the reason.
func (s *stream) send(publish spaziov1.SignalService_PublishClient, ended <-chan error) error {
	timer := time.NewTimer(time.Hour) // until it is reset below
	defer timer.Stop()
	for {
		m, age, wait := s.slot.next(time.Now())
		if m != nil {
			if publish.Send(m) != nil {
				return <-ended
			}
			s.metrics.sent(m, age)
			continue
		}
		if wait > 0 {
			timer.Reset(wait)
		}
		select {
		case err := <-ended:
			return err
		case <-s.wake:
		case <-timer.C:
		}
	}
}

func (s *stream) receive(publish spaziov1.SignalService_PublishClient) error {
	for {
		notice, err := publish.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the scheduler closed the stream")
		}
		if err != nil {
			return err
		}
		s.metrics.notices.Inc()
		if notice.GetTakesHeartbeats() {
			s.slot.accept()
			wake(s.wake)
			continue
		}
		if s.onNotice != nil {
			s.onNotice(s.target, notice)
		}
	}
}

// wake leaves a token in c unless one is there.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
