package kube

import "time"

// WithBackoff returns c with other bounds of the pause ahead of another try than the defaults.
func (c Config) WithBackoff(least, most time.Duration) Config {
	c.minBackoff, c.maxBackoff = least, most
	return c
}
