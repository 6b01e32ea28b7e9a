package report

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is what every field.Error of this module wraps; match it with
// errors.Is.
var ErrInvalid = errors.New("invalid configuration or input")

// Refuse returns a *field.Error; want completes "must be".
func Refuse(name string, value any, want string) error {
	return &field.Error{Package: "report", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
