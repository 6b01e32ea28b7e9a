package profiler

// These are exported for tests of the package from outside.

var (
	ErrInvalid = errInvalid
	Fill       = fill
	Place      = place
)

// SetAttempts sets how often a pair may fail before Profile gives up.
func SetAttempts(c *Config, n int) { c.attempts = n }
