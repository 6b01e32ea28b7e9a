package publish

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is the reason of every field.Error of this package.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse returns a *field.Error for a field that is refused for a reason.
func refuse(name string, value any, reason string) error {
	return &field.Error{Package: "publish", Field: name, Value: value, Err: fmt.Errorf("%w: %s", ErrInvalid, reason)}
}
