package deploy

import (
	"errors"

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
var refuse = field.Refuser("deploy", ErrInvalid)
