package source

import (
	"errors"
	"fmt"
	"io/fs"
)

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is what a FieldError of a configuration wraps.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrNoPower is that there is nothing that shows energy or power.
	ErrNoPower = errors.New("nothing shows energy or power")
	// ErrNotPermitted is that there is, and that it may not be read.
	ErrNotPermitted = errors.New("may be read by root alone: run as uid 0 without capabilities, and mount /sys/devices/virtual/powercap")
	// ErrMalformed is what is no amount.
	ErrMalformed = errors.New("malformed")
	// ErrUnchanged is that there is no newer reading yet. It is no failure.
	ErrUnchanged = errors.New("no newer reading")
	// ErrStale is that there has been none for three periods.
	ErrStale = errors.New("no newer reading for three periods")
)

// FieldError names a field, or a file, and the value it was refused for. It is a plain
// value, safe for concurrent reading.
type FieldError struct {
	Field string
	Value any
	Err   error
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("source: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err, which wraps one of the Err variables of this package.
func (e *FieldError) Unwrap() error { return e.Err }

// invalid makes a FieldError of a configuration; want completes "must be".
func invalid(field string, value any, want string) error {
	return &FieldError{Field: field, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// fileError says why a file could not be read.
func fileError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("source: %s: %w", path, ErrNotPermitted)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("source: %w: %w", ErrNoPower, err)
	}
	return fmt.Errorf("source: %w", err)
}
