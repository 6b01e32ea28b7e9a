package workload

import (
	"errors"

	"github.com/spazio-scheduler/spazio/field"
)

// errInvalid is the reason of every field.Error of this package.
var errInvalid = errors.New("invalid configuration or input")

// refuse makes a *field.Error; want completes "must be".
var refuse = field.Refuser("workload", errInvalid)
