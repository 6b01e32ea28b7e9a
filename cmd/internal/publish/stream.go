package publish

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

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

// message is the report as it is sent at now.
func (d *dated) message(now time.Time) *spaziov1.Report {
	m := api.FromReport(d.report)
	m.SampleAgeNanos = d.age(now).Nanoseconds()
	return m
}

// slot holds the newest report.
type slot struct {
	mu     sync.Mutex
	report *dated
	taken  bool
}

// put returns whether it took the place of a report that nobody had taken.
func (s *slot) put(r *dated) (missed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missed = s.report != nil && !s.taken
	s.report, s.taken = r, false
	return missed
}

// take returns the report, nil if there is none.
func (s *slot) take() *dated {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = true
	return s.report
}

func (s *stream) put(r *dated) {
	if s.slot.put(r) {
		s.metrics.missed.Inc()
	}
	wake(s.wake)
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
		if s.failed != nil {
			wake(s.failed)
		}
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
	ended := make(chan error, 1)
	go func() { ended <- s.receive(publish) }()
	return s.send(publish, ended)
}

// send returns when receiving has ended, with the reason: a failed Send ends
// the stream too, and Recv alone says why.
func (s *stream) send(publish spaziov1.SignalService_PublishClient, ended <-chan error) error {
	var sent *dated
	for {
		if r := s.slot.take(); r != sent {
			now := time.Now()
			if publish.Send(r.message(now)) != nil {
				return <-ended
			}
			sent = r
			s.metrics.reports.Inc()
			s.metrics.age.Observe(r.age(now).Seconds())
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
