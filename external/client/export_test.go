package client

import "time"

// WithPauses returns c with other times between attempts, the first and the longest, than the
// defaults, which a zero stands for.
func (c Config) WithPauses(first, longest time.Duration) Config {
	c.pause, c.maxPause = first, longest
	return c
}
