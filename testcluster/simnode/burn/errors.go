package burn

import (
	"errors"
	"fmt"
)

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is in every FieldError.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrNoInit is returned for a machine whose children would run the whole
	// program once more.
	ErrNoInit = errors.New("burn: the program's main function does not begin with burn.Init")
)

// FieldError names a field whose value is out of its range.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("burn: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// refuse makes a *FieldError; want completes "must be".
func refuse(field string, value any, want string) error {
	return &FieldError{field, value, fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
