package podsource

import "time"

// WithIntervals returns c with other intervals than the defaults, which a zero stands for.
func (c Config) WithIntervals(rescan, poll time.Duration) Config {
	c.rescan, c.poll = rescan, poll
	return c
}

// SetBackoff sets the bounds of the pause ahead of a reconnection.
func SetBackoff(c *Config, least, most time.Duration) { c.minBackoff, c.maxBackoff = least, most }

// SetPoll sets how often the containers are listed while there are no events.
func SetPoll(c *Config, d time.Duration) { c.poll = d }
