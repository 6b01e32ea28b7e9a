package api

import (
	"errors"
	"fmt"
	"strings"
)

// FieldError says which field of a message was refused, and why.
type FieldError struct {
	// Field is the path of the field by its protobuf names, such as
	// "channels[2].cost_sd" or "model.u".
	Field string
	// Value is what it held, or the length of a list or name that is too long. A
	// list may be the message's own.
	Value any
	Err   error
}

// maxValue is how many bytes of a value an error shows: it travels in statuses
// and logs.
const maxValue = 64

// Error is one line; a long value is cut.
func (e *FieldError) Error() string {
	value := fmt.Sprintf("%#v", e.Value)
	if len(value) > maxValue {
		value = strings.ToValidUTF8(value[:maxValue-len("...")], "") + "..."
	}
	return fmt.Sprintf("api: %s = %s: %v", e.Field, value, e.Err)
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
	// ErrMeaning refuses a report whose fields mean what this version does not know.
	ErrMeaning = errors.New("of a newer version")
)

func refuse(field string, value any, err error) error {
	return &FieldError{Field: field, Value: value, Err: err}
}

func refuseLength(field string, got, most int) error {
	return refuse(field, got, fmt.Errorf("%w: at most %d", ErrLength, most))
}
