package publish

import "time"

// IsDue is isDue of a Staleness with its defaults.
func (s Staleness) IsDue(wait time.Duration, made bool) bool {
	return s.withDefaults().isDue(wait, made)
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
