package slice

import (
	"errors"
	"fmt"
)

// ErrInvalid is in every FieldError of this package.
var ErrInvalid = errors.New("invalid configuration or input")

// FieldError names a field whose value is out of its range.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("slice: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// refuse makes a *FieldError; want completes "must be".
func refuse(field string, value any, want string) error {
	return &FieldError{field, value, fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
