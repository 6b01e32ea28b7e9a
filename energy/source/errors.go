package source

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spazio-scheduler/spazio/field"
)

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is what a field.Error of a configuration wraps.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrNoPower is that there is nothing that shows energy or power.
	ErrNoPower = errors.New("nothing shows energy or power")
	// ErrNotPermitted is that there is, and that it may not be read.
	ErrNotPermitted = errors.New("may be read by root alone: run as uid 0 without capabilities, and mount /sys/devices/virtual/powercap")
	// errMalformed is what is no amount.
	errMalformed = errors.New("malformed")
	// ErrUnchanged is that there is no newer reading yet. It is no failure.
	ErrUnchanged = errors.New("no newer reading")
	// errStale is that there has been none for three periods.
	errStale = errors.New("no newer reading for three periods")
)

// invalid makes a field.Error of a configuration; want completes "must be".
func invalid(name string, value any, want string) error {
	return &field.Error{Package: "source", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// fileError describes why a file could not be read.
func fileError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("source: %s: %w", path, ErrNotPermitted)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("source: %w: %w", ErrNoPower, err)
	}
	return fmt.Errorf("source: %w", err)
}
