package filter

import (
	"errors"
	"fmt"
	"math"
)

// Causes of a rejected argument; test for them with errors.Is.
var (
	ErrNotFinite = errors.New("not finite")
	ErrRange     = errors.New("out of range")
	ErrLength    = errors.New("wrong length")
	ErrNil       = errors.New("nil")
)

// FieldError names a field or argument that was rejected. It unwraps to its
// cause, one of the Err variables of this package.
type FieldError struct {
	// Field is the name of the field or argument, such as "Norm".
	Field string
	// Index is the offending element of Field, or -1 if Field has none.
	Index int
	// Value is what was found: the element, or the length for ErrLength.
	Value float64
	Err   error
}

func (e *FieldError) Error() string {
	if e.Index >= 0 {
		return fmt.Sprintf("filter: %s[%d] = %g: %v", e.Field, e.Index, e.Value, e.Err)
	}
	return fmt.Sprintf("filter: %s = %g: %v", e.Field, e.Value, e.Err)
}

func (e *FieldError) Unwrap() error { return e.Err }

// valid says that v is an acceptable sample: finite, and small enough for
// differences not to overflow.
func valid(v float64) bool { return v >= -MaxMagnitude && v <= MaxMagnitude }

// reject returns the error for a value that is not valid.
func reject(field string, index int, v float64) error {
	cause := ErrRange
	if math.IsNaN(v) || math.IsInf(v, 0) {
		cause = ErrNotFinite
	}
	return &FieldError{Field: field, Index: index, Value: v, Err: cause}
}
