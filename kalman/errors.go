package kalman

import (
	"errors"
	"fmt"
)

// Causes of a rejected argument; test for them with errors.Is.
var (
	ErrInvalid = errors.New("invalid configuration or input")
	ErrLength  = errors.New("wrong length")
)

// FieldError says which field or argument was rejected, and why.
type FieldError struct {
	// Field is its name, such as "Prior", "State.Cost" or "len(Headroom)".
	Field string
	// Value is what was found.
	Value any
	// Err wraps the cause, one of the Err variables of this package.
	Err error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("kalman: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// refuse returns a FieldError that says what the value must be.
func refuse(field string, value any, must string) error {
	return &FieldError{field, value, fmt.Errorf("%w: %s", ErrInvalid, must)}
}

// refuseLength refuses a vector that does not have one element a channel.
func refuseLength(field string, got, want int) error {
	return &FieldError{"len(" + field + ")", got, fmt.Errorf("%w: want %d", ErrLength, want)}
}
