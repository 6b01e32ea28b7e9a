package demo

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// Errors of a demo.
var (
	// errInvalid is what a field.Error wraps.
	errInvalid = errors.New("invalid configuration")
	// errInterrupted is returned by a demo that was cut short.
	errInterrupted = errors.New("interrupted")
)

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "demo", Field: name, Value: value, Err: fmt.Errorf("%w: want %s", errInvalid, want)}
}
