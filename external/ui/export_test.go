package ui

import "time"

// WithClock returns c with another clock than time.Now.
func (c Config) WithClock(now func() time.Time) Config {
	c.now = now
	return c
}
