package publish

import (
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// IsDue is isDue of a Staleness with its defaults.
func (s Staleness) IsDue(wait time.Duration, made bool) bool {
	return s.withDefaults().isDue(wait, made)
}

// Wait is the time from the push of last, nil for none, to that of next.
func (s Staleness) Wait(last, next *spaziov1.LocalModel) time.Duration { return s.wait(last, next) }

// HasMoved is hasMoved with limits that differ.
func HasMoved(last, next *spaziov1.LocalModel, turned, stretched float64) bool {
	return hasMoved(last, next, turned, stretched)
}

// WithLinger returns c with another time for which an idle connection is kept than the default.
func (c UsagesConfig) WithLinger(d time.Duration) UsagesConfig {
	c.linger = d
	return c
}

// Waits returns the backoff between attempts.
func (c UsagesConfig) Waits() Backoff { return c.backoff() }

type (
	Message    = message
	Heartbeats = heartbeats
)

const (
	Nothing    = nothing
	Heartbeat  = heartbeat
	Full       = full
	MaxTargets = maxTargets
)

func (h *heartbeats) Accept()      { h.accept() }
func (h *heartbeats) Base() uint64 { return h.sequence() }

func (h *heartbeats) Next(r *agent.Report, now time.Time) (Message, time.Time) { return h.next(r, now) }

func (h *heartbeats) Sent(m Message, r *agent.Report, now time.Time, random float64) {
	h.sent(m, r, now, random)
}

// Delay is the wait before retry i.
func (b Backoff) Delay(i int, random float64) time.Duration { return b.delay(i, random) }
