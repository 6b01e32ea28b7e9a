package simnode

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// Errors of this package; match them with errors.Is.
var (
	// errInvalid is in the errors of configurations.
	errInvalid = errors.New("invalid configuration or input")
	// ErrBadPod is in the errors of pods.
	ErrBadPod = errors.New("pod is not runnable")
	// ErrDuplicatePod is returned for a pod that is on the node already.
	ErrDuplicatePod = errors.New("simnode: pod is on the node already")
	// ErrStopped is returned for a pod given to a machine that has stopped.
	ErrStopped = errors.New("simnode: machine has stopped")
)

// refuse makes a *field.Error; want completes "must be".
func refuse(reason error, name string, value any, want string) error {
	return &field.Error{Package: "simnode", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", reason, want)}
}
