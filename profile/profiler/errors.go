package profiler

import (
	"errors"
	"fmt"
)

// ErrInvalid is what every FieldError wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// FieldError names a field or argument and the value it was refused for. It is a
// plain value, safe for concurrent reading.
type FieldError struct {
	Field string
	Value any
	Err   error
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("profiler: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err, which wraps ErrInvalid.
func (e *FieldError) Unwrap() error { return e.Err }

// refuse makes a FieldError; want completes "must be".
func refuse(field string, value any, want string) error {
	return &FieldError{Field: field, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
