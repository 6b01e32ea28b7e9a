package api

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

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

func refuse(name string, value any, err error) error {
	return &field.Error{Package: "api", Field: name, Value: value, Err: err}
}

func refuseLength(field string, got, most int) error {
	return refuse(field, got, fmt.Errorf("%w: at most %d", ErrLength, most))
}
