package report

import (
	"errors"
	"fmt"
)

// ErrInvalid is what every FieldError of this module wraps; match it with
// errors.Is.
var ErrInvalid = errors.New("invalid configuration or input")

// FieldError names a field of a configuration or of data whose value is out of
// range. Err wraps ErrInvalid. It is a plain value, safe for concurrent reading.
type FieldError struct {
	Field string
	Value any
	Err   error
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("report: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// Refuse returns a *FieldError; want completes "must be".
func Refuse(field string, value any, want string) error {
	return &FieldError{field, value, fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
