package burn

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is in every field.Error.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrNoInit is returned for a machine whose children would run the whole
	// program once more.
	ErrNoInit = errors.New("burn: the program's main function does not begin with burn.Init")
)

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "burn", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
