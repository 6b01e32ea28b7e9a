package deploy

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is in every field.Error.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrInUse refuses to remove a scheduler that pods wait for, or will.
	ErrInUse = errors.New("still in use")
	// ErrBusy is wrapped if another installation did not end in time.
	ErrBusy = errors.New("another installation is under way")
	// errFailed is wrapped for a workload that will not become ready by itself.
	errFailed = errors.New("failed")
)

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "deploy", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
