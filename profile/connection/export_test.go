package connection

import "time"

// WithHalfLife returns c with another half-life than the default.
func (c Config) WithHalfLife(d time.Duration) Config {
	c.halfLife = d
	return c
}

// WithMaxConnections returns c with another bound of the jobs that one calls than the default.
func (c Config) WithMaxConnections(n int) Config {
	c.maxConnections = n
	return c
}

// Jobs are all that are known, by name.
func (g *Graph) Jobs() []Job {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.sorted()
}
