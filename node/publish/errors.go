package publish

import (
	"errors"
	"fmt"
)

// ErrInvalid is the reason of every FieldError of this package.
var ErrInvalid = errors.New("invalid configuration or input")

// FieldError names the field of a config that can't be used, and its value. Err
// wraps ErrInvalid.
type FieldError struct {
	Field string
	Value any
	Err   error
}

// Error is one line.
func (e *FieldError) Error() string {
	return fmt.Sprintf("publish: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns the reason.
func (e *FieldError) Unwrap() error { return e.Err }

func invalid(reason string) error { return fmt.Errorf("%w: %s", ErrInvalid, reason) }
