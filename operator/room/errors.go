package room

import (
	"errors"
	"fmt"
)

// ErrInvalid is what a FieldError wraps, unless it is of a file that can't be read: that
// wraps the system's error.
var ErrInvalid = errors.New("invalid configuration or input")

// FieldError names a field of a Config that was refused, and its value.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string { return fmt.Sprintf("room: %s = %v: %v", e.Field, e.Value, e.Err) }

// Unwrap returns the reason.
func (e *FieldError) Unwrap() error { return e.Err }
