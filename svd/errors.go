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

// FieldError names a field or argument that was rejected. It unwraps to the
// cause, one of the Err variables of this package.
type FieldError struct {
	// Field is the name of the field or argument, such as "Sigma".
	Field string
	// Index is the offending element of Field, or -1 if Field has none.
	Index int
	// Value is what was found: the element, or the length for ErrLength.
	Value float64
	Err   error
}

func (e *FieldError) Error() string {
	if e.Index >= 0 {
		return fmt.Sprintf("svd: %s[%d] = %g: %v", e.Field, e.Index, e.Value, e.Err)
	}
	return fmt.Sprintf("svd: %s = %g: %v", e.Field, e.Value, e.Err)
}

func (e *FieldError) Unwrap() error { return e.Err }

// SampleError names a value of a block that was rejected. It unwraps to
// ErrNotFinite, ErrRange or ErrLength.
type SampleError struct {
	// Sample is the position of the sample in its block.
	Sample int
	// Channel is the position of the value in its sample, or -1 if the
	// sample's length is wrong.
	Channel int
	// Value is the value found, or the length for ErrLength.
	Value float64
	Err   error
}

func (e *SampleError) Error() string {
	if e.Channel < 0 {
		return fmt.Sprintf("svd: len(samples[%d]) = %g: %v", e.Sample, e.Value, e.Err)
	}
	return fmt.Sprintf("svd: samples[%d][%d] = %g: %v", e.Sample, e.Channel, e.Value, e.Err)
}

func (e *SampleError) Unwrap() error { return e.Err }

func fieldError(field string, value float64, cause error) error {
	return &FieldError{Field: field, Index: -1, Value: value, Err: cause}
}
