package demo

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// errInvalid is what a field.Error wraps.
var errInvalid = errors.New("invalid configuration")

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "demo", Field: name, Value: value, Err: fmt.Errorf("%w: want %s", errInvalid, want)}
}
