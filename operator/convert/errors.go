package convert

import (
	"errors"
	"fmt"
)

// ErrInvalid is what every FieldError wraps; match it with errors.Is.
var ErrInvalid = errors.New("invalid configuration or input")

// FieldError names a field of a manifest that can't be rewritten.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("convert: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// refuse makes a *FieldError; want completes "must be".
func refuse(field string, value any, want string) error {
	return &FieldError{field, value, fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
