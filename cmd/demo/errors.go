package demo

import (
	"errors"
	"fmt"
)

// Errors of a demo.
var (
	// ErrInvalid is what a FieldError wraps.
	ErrInvalid = errors.New("invalid configuration")
	// ErrInterrupted is returned by a demo that was cut short.
	ErrInterrupted = errors.New("interrupted")
)

// FieldError names a field of a Config and the value it was refused for.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("demo: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err, which wraps ErrInvalid.
func (e *FieldError) Unwrap() error { return e.Err }

func refuse(field string, value any, want string) error {
	return &FieldError{field, value, fmt.Errorf("%w: want %s", ErrInvalid, want)}
}
