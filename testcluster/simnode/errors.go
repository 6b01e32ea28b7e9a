package simnode

import (
	"errors"
	"fmt"
)

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is in the FieldErrors of configurations.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrBadPod is in the FieldErrors of pods.
	ErrBadPod = errors.New("pod is not runnable")
	// ErrDuplicatePod is returned for a pod that is on the node already.
	ErrDuplicatePod = errors.New("simnode: pod is on the node already")
	// ErrStopped is returned for a pod given to a machine that has stopped.
	ErrStopped = errors.New("simnode: machine has stopped")
)

// FieldError names a field of a configuration, a field of a pod or an annotation
// whose value is out of its range.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("simnode: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// refuse makes a *FieldError; want completes "must be".
func refuse(reason error, field string, value any, want string) error {
	return &FieldError{field, value, fmt.Errorf("%w: must be %s", reason, want)}
}
