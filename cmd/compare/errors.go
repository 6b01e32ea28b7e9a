package compare

import (
	"errors"

	"github.com/spazio-scheduler/spazio/field"
)

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is in every field.Error.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrVoid is wrapped where too few runs count for a comparison.
	ErrVoid = errors.New("too many runs are void")
	// errNamespace is wrapped where the namespace of a comparison is there already.
	errNamespace = errors.New("the namespace is there")
	// errRights is wrapped where rights lack; the error names them.
	errRights = errors.New("there is no right to")
	// errNoPower is wrapped where the power of a node is unknown.
	errNoPower = errors.New("no power is known")
	// errNoScheduler is wrapped where a scheduler placed no pod.
	errNoScheduler = errors.New("no such scheduler places pods")
	// ErrLeft is wrapped where something is left in a cluster that should be gone.
	ErrLeft = errors.New("it is still there")
	// errPlacing is wrapped where pods were not placed in time.
	errPlacing = errors.New("not all pods run")
)

// refuse makes a *field.Error; want completes "must be".
var refuse = field.Refuser("compare", ErrInvalid)
