package modelserver

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLate says that models are no longer being published.
var ErrLate = errors.New("no model was published")

// lateTicks is how many ticks the worker may miss before the server counts as
// unhealthy: an eigen-decomposition of the largest models takes milliseconds.
const lateTicks = 20

// Healthy returns ErrLate, wrapped, if Run has not published for twenty ticks, by the
// clock of the machine: a process that is restarted then has better prospects.
func (s *Server) Healthy() error {
	if late := time.Since(*s.alive.Load()); late > lateTicks*s.config.Tick {
		return fmt.Errorf("modelserver: %w for %s", ErrLate, late.Round(time.Millisecond))
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
