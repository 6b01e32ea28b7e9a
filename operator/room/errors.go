package room

import (
	"errors"
)

// ErrInvalid is what a field.Error wraps, unless it is of a file that can't be read: that
// wraps the system's error.
var ErrInvalid = errors.New("invalid configuration or input")
