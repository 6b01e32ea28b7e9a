package main

import (
	"errors"
	"fmt"
)

// ErrInvalid is what a FieldError wraps.
var ErrInvalid = errors.New("not releasable")

// FieldError names the option, or what of the tree, stands in a release's way.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("release: %s = %v: %v", e.Field, e.Value, e.Err)
}

func (e *FieldError) Unwrap() error { return e.Err }

func invalid(field string, value any, why string) error {
	return &FieldError{field, value, fmt.Errorf("%w: %s", ErrInvalid, why)}
}
