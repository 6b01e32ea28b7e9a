package deploy

import (
	"errors"
	"fmt"
)

// FieldError names a value that can't be worked with.
type FieldError struct {
	Field string
	Value any
	Err   error
}

// Error is one line.
func (e *FieldError) Error() string {
	return fmt.Sprintf("deploy: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns the reason.
func (e *FieldError) Unwrap() error { return e.Err }

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is in every FieldError.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrInUse refuses to remove a scheduler that pods wait for, or will.
	ErrInUse = errors.New("still in use")
	// ErrBusy is that of an installation for which another one did not make room.
	ErrBusy = errors.New("another installation is under way")
	// ErrFailed is that of a workload that will not become ready by itself.
	ErrFailed = errors.New("failed")
)

// refuse makes a *FieldError; want completes "must be".
func refuse(field string, value any, want string) error {
	return &FieldError{field, value, fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
