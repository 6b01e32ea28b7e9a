package main

import (
	"errors"
	"fmt"
)

// ErrInvalid is what a FieldError wraps.
var ErrInvalid = errors.New("invalid option or input")

// FieldError names the option, or the line of a file, that cannot be followed.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("images: %s = %v: %v", e.Field, e.Value, e.Err)
}

func (e *FieldError) Unwrap() error { return e.Err }

func invalid(field string, value any, why string) error {
	return &FieldError{field, value, fmt.Errorf("%w: %s", ErrInvalid, why)}
}
