package server

// What tests of the package outside of it look at.

var ErrInvalid = errInvalid

// SetCallerLimits sets how many watches a caller may have, and how many subscriptions a watch.
func SetCallerLimits(c *Config, connections, subscriptions int) {
	c.Limits.callerConnections, c.Limits.subscriptions = connections, subscriptions
}
