package workload

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// errInvalid is the reason of every field.Error of this package.
var errInvalid = errors.New("invalid configuration or input")

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "workload", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", errInvalid, want)}
}
