package web

import "time"

// These are exported for tests of the package from outside.

const (
	MaxFrame = maxFrame
	MaxNodes = maxNodes
	MaxRuns  = maxRuns
)

var (
	ErrInvalid = errInvalid
	Verdict    = verdict
)

// SetReaders sets how many may look at a time.
func SetReaders(c *Config, n int) { c.readers = n }

// SetAskTimeout sets what the Source may take for one answer.
func SetAskTimeout(c *Config, d time.Duration) { c.askTimeout = d }
