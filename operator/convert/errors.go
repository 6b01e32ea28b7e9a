package convert

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is what every field.Error wraps; match it with errors.Is.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "convert", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
