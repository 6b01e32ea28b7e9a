package server

// These are exported for tests of the package from outside.

var ErrInvalid = errInvalid

// SetCallerLimits sets how many watches a caller may have, and how many subscriptions a watch.
func SetCallerLimits(c *Config, connections, subscriptions int) {
	c.Limits.callerConnections, c.Limits.subscriptions = connections, subscriptions
}
