package publish

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/node/internal/pace"
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
	former, _ := s.heartbeats.Next(s.report(), now)
	s.latest = r
	_, at := s.heartbeats.Next(s.report(), now)
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
	s.heartbeats.Accept()
}

// next returns the message that is due at now, with the age of its sample, and
// counts it as sent. If none is, it returns how long that will last, 0 for until
// the next report.
func (s *slot) next(now time.Time) (m *spaziov1.Report, age, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.report()
	kind, at := s.heartbeats.Next(r, now)
	if wait = at.Sub(now); wait > 0 || kind == nothing {
		return nil, 0, max(wait, 0)
	}
	s.heartbeats.Sent(kind, r, now, rand.Float64())
	age = s.latest.age(now)
	if kind == heartbeat {
		return api.FromHeartbeat(api.Heartbeat{Sequence: r.Sequence, Unchanged: s.heartbeats.Base(), SampleAge: age}), age, 0
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
	timer, err := pace.NewTimer()
	if err != nil {
		return err
	}
	defer timer.Close()
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
	return s.send(publish, timer, ended)
}

// send returns when receiving has ended, with the reason: a failed Send ends
// the stream too, and Recv alone returns the reason.
func (s *stream) send(publish spaziov1.SignalService_PublishClient, timer *pace.Timer, ended <-chan error) error {
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
