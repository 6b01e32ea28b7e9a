package testbed

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is what every field.Error of this module wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// Refuse makes a field.Error that wraps ErrInvalid; want completes "must be".
func Refuse(name string, value any, want string) error {
	return &field.Error{Package: "testbed", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
