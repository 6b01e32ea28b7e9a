package modelserver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
)

// TestHealthy: a server whose Run has ended, or never began, becomes unhealthy, whatever its own clock
// shows.
func TestHealthy(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	made := func(tick time.Duration) *modelserver.Server {
		t.Helper()
		s, err := modelserver.New(modelserver.Config{Tick: tick, Now: func() time.Time { return noon }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := made(time.Hour).Healthy(); err != nil {
		t.Errorf("at first: got error %v", err)
	}
	s := made(time.Millisecond)
	becomes := func(want error) {
		t.Helper()
		for err := s.Healthy(); !errors.Is(err, want); err = s.Healthy() {
			time.Sleep(time.Millisecond)
		}
	}
	becomes(modelserver.ErrLate)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	becomes(nil)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	becomes(modelserver.ErrLate)
}

func TestAwaitReady(t *testing.T) {
	s := start(t, modelserver.Config{Tick: time.Millisecond, Hold: true})
	until(t, s, func(stats modelserver.Stats) bool { return !stats.At.IsZero() })
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if err := s.AwaitReady(ctx); !errors.Is(err, enough) {
		t.Errorf("held server: got error %v", err)
	}
	ready := make(chan error, 1)
	go func() { ready <- s.AwaitReady(t.Context()) }()
	s.Release()
	if err := <-ready; err != nil || !s.Ready() {
		t.Errorf("%v, ready %t", err, s.Ready())
	}
}
