package filter

import (
	"errors"
	"fmt"
	"math"
)

// MaxMagnitude bounds the absolute value of a sample, so that differences of
// samples do not overflow.
const MaxMagnitude = 1e300

// Causes of a rejected argument; test for them with errors.Is.
var (
	ErrNotFinite = errors.New("not finite")
	ErrRange     = errors.New("out of range")
	ErrLength    = errors.New("wrong length")
)

// FieldError says which field or argument was rejected, and why.
type FieldError struct {
	// Field is its name, such as "Norm", "x[1]" or "len(x)".
	Field string
	// Value is what was found.
	Value any
	// Err is the cause, one of the Err variables of this package.
	Err error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("filter: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// valid says that v is an acceptable sample: finite, and small enough for
// differences not to overflow.
func valid(v float64) bool { return v >= -MaxMagnitude && v <= MaxMagnitude }

// reject returns the error for a value that is not valid: element index of the
// field, or the field itself for an index below 0.
func reject(field string, index int, v float64) error {
	cause := ErrRange
	if math.IsNaN(v) || math.IsInf(v, 0) {
		cause = ErrNotFinite
	}
	if index >= 0 {
		field = fmt.Sprintf("%s[%d]", field, index)
	}
	return &FieldError{field, v, cause}
}
