package svd

import (
	"errors"
	"fmt"
)

// Causes of a rejected argument; test for them with errors.Is.
var (
	ErrNotFinite   = errors.New("not finite")
	ErrRange       = errors.New("out of range")
	ErrLength      = errors.New("wrong length")
	ErrOrder       = errors.New("not in descending order")
	ErrOrthonormal = errors.New("columns not orthonormal")
	ErrIndefinite  = errors.New("not symmetric positive semidefinite")
	ErrDimension   = errors.New("dimensions differ")
	ErrCentring    = errors.New("centred and not centred do not mix")
	ErrNil         = errors.New("nil")
)

// FieldError says which field or argument was rejected, and why.
type FieldError struct {
	// Field is its name, such as "Mass", "Sigma[1]", "len(U)" or, of value 2 in
	// sample 3 of a block, "samples[3][2]".
	Field string
	// Value is what was found.
	Value any
	// Err is the cause, one of the Err variables of this package.
	Err error
}

func (e *FieldError) Error() string { return fmt.Sprintf("svd: %s = %v: %v", e.Field, e.Value, e.Err) }

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// refuse returns a FieldError. Its arguments do not escape unless it is called,
// so that valid input allocates nothing.
func refuse(field string, value any, cause error) error {
	return &FieldError{Field: field, Value: value, Err: cause}
}

// refuseElement is refuse of one element of a field.
func refuseElement(field string, index int, value float64, cause error) error {
	return refuse(fmt.Sprintf("%s[%d]", field, index), value, cause)
}
