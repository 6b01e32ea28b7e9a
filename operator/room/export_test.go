package room

import (
	"cmp"
	"time"
)

// These are exported for tests of the package from outside.

var ErrInvalid = errInvalid

// WithMaxAge returns c with the time for which a reading is fresh, unless it has one.
func (c Config) WithMaxAge(d time.Duration) Config {
	c.maxAge = cmp.Or(c.maxAge, d)
	return c
}
