package testbed

import (
	"errors"
	"fmt"
)

// ErrInvalid is what every FieldError of this module wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// FieldError names a field or argument and the value it was refused for.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("testbed: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err, which wraps ErrInvalid.
func (e *FieldError) Unwrap() error { return e.Err }

// Refuse makes a FieldError that wraps ErrInvalid; want completes "must be".
func Refuse(field string, value any, want string) error {
	return &FieldError{Field: field, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
