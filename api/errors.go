package api

import (
	"errors"
	"fmt"
)

// FieldError says which field of a message was refused, and why.
type FieldError struct {
	// Field is the path of the field by its protobuf names, such as
	// "channels[2].cost_sd" or "model.u".
	Field string
	// Value is what it held, cut to a readable length.
	Value string
	Err   error
}

// Error is one line.
func (e *FieldError) Error() string {
	return fmt.Sprintf("api: field %s = %s: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns the reason.
func (e *FieldError) Unwrap() error { return e.Err }

var (
	// ErrMissing refuses a message or a name that is not there.
	ErrMissing = errors.New("missing")
	// ErrRange refuses a number that is not finite or out of its range.
	ErrRange = errors.New("out of range")
	// ErrLength refuses a name or list that is too long or of the wrong length.
	ErrLength = errors.New("wrong length")
	// ErrText refuses a name with control characters or broken UTF-8.
	ErrText = errors.New("not printable text")
)

// refuse quotes at most 64 bytes of the value: the error travels in statuses
// and logs.
func refuse(field string, value any, err error) error {
	text := fmt.Sprintf("%#v", value)
	if len(text) > 64 {
		text = fmt.Sprintf("%.61s...", text)
	}
	return &FieldError{Field: field, Value: text, Err: err}
}

func refuseLength(field string, got, most int) error {
	return refuse(field, got, fmt.Errorf("%w: at most %d", ErrLength, most))
}
