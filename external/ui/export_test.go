package ui

import "time"

// Base is where the handler is mounted.
const Base = base

// WithClock returns c with another clock than time.Now.
func (c Config) WithClock(now func() time.Time) Config {
	c.now = now
	return c
}
