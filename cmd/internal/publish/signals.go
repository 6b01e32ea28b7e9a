package publish

import (
	"context"
	"errors"
	"io"
	"log/slog"
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

// SignalsConfig says where reports go.
type SignalsConfig struct {
	// Targets are the gRPC targets of the scheduler replicas, each given once.
	Targets []string
	// Transport is the agent's identity and trust.
	Transport transport.Config
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

// Validate returns a *ConfigError, or what package transport refuses.
func (c SignalsConfig) Validate() error {
	seen := map[string]bool{}
	for _, target := range c.Targets {
		if target == "" || seen[target] {
			return &ConfigError{Field: "Targets", Value: c.Targets, Reason: "an empty or repeated target"}
		}
		seen[target] = true
		if _, err := transport.DialOptions(target, c.Transport); err != nil {
			return err
		}
	}
	return c.Backoff.Validate()
}

// Signals keeps one stream of reports to each scheduler. It is safe for
// concurrent use; Run is called once.
type Signals struct {
	streams []*stream
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
	logger := orDefault(c.Logger, slog.New(slog.DiscardHandler))
	s := &Signals{}
	for _, target := range c.Targets {
		options, err := dialOptions(target, c.Transport)
		if err != nil {
			return nil, err
		}
		s.streams = append(s.streams, &stream{
			target:   target,
			options:  options,
			backoff:  c.Backoff.withDefaults(),
			onNotice: c.OnNotice,
			metrics:  metrics.of(target),
			logger:   logger.With("scheduler", target),
			wake:     make(chan struct{}, 1),
		})
	}
	return s, nil
}

// Send hands the report to every stream and returns at once. A stream that is
// busy or down keeps the newest report alone. Reports are sent in the order of
// the calls, which should be that of their sequence numbers.
func (s *Signals) Send(r agent.Report) {
	m := api.FromReport(r)
	for _, one := range s.streams {
		one.latest.Store(m)
		wake(one.wake)
	}
}

// Run keeps the streams until ctx ends and returns nil when all are closed.
func (s *Signals) Run(ctx context.Context) error {
	var streams sync.WaitGroup
	for _, one := range s.streams {
		streams.Go(func() { one.run(ctx) })
	}
	<-ctx.Done()
	streams.Wait()
	return nil
}

// stream is the way to one scheduler. Every attempt gets a connection of its
// own, so that the only backoff is ours.
type stream struct {
	target   string
	options  []grpc.DialOption
	backoff  Backoff
	onNotice func(string, *spaziov1.Notice)
	metrics  streamMetrics
	logger   *slog.Logger

	latest atomic.Pointer[spaziov1.Report]
	wake   chan struct{}
}

func (s *stream) run(ctx context.Context) {
	retry := retries{backoff: s.backoff}
	for {
		began := time.Now()
		err := s.session(ctx)
		if ctx.Err() != nil {
			return
		}
		s.metrics.failures.Inc()
		// A stream that outlived the longest wait worked: what ended it is new.
		if time.Since(began) > s.backoff.Max {
			retry.reset()
		}
		if retry.failures == 0 {
			s.logger.Warn("scheduler is away", "error", err)
		}
		if !sleep(ctx, retry.next()) {
			return
		}
	}
}

// session opens the stream and sends the newest report whenever there is one
// that this stream has not carried, until the stream or ctx ends.
func (s *stream) session(ctx context.Context) error {
	connection, err := grpc.NewClient(s.target, s.options...)
	if err != nil {
		return err
	}
	defer connection.Close()
	publish, err := spaziov1.NewSignalServiceClient(connection).Publish(ctx)
	if err != nil {
		return err
	}
	s.logger.Debug("stream to the scheduler is open")
	s.metrics.connected.Inc()
	defer s.metrics.connected.Dec()
	ended := make(chan error, 1)
	go func() { ended <- s.receive(publish) }()
	return s.send(publish, ended)
}

// send returns when receiving has ended, with the reason: a failed Send ends
// the stream too, and Recv alone says why.
func (s *stream) send(publish spaziov1.SignalService_PublishClient, ended <-chan error) error {
	var sent *spaziov1.Report
	for {
		if m := s.latest.Load(); m != sent {
			if publish.Send(m) != nil {
				return <-ended
			}
			sent = m
			s.metrics.reports.Inc()
		}
		select {
		case err := <-ended:
			return err
		case <-s.wake:
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
