package compare

import (
	"errors"
	"fmt"
)

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is in every FieldError.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrFewCPUs is wrapped where this machine has fewer CPUs than slices were asked for.
	ErrFewCPUs = errors.New("each slice has a CPU of its own")
	// ErrVoid is wrapped where too few runs count for a comparison.
	ErrVoid = errors.New("too many runs are void")
	// errPlacing is wrapped where pods were not placed in time.
	errPlacing = errors.New("not all pods run")
)

// FieldError names a field whose value is out of its range.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("compare: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// refuse makes a *FieldError; want completes "must be".
func refuse(field string, value any, want string) error {
	return &FieldError{field, value, fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
