package pronto

import (
	"errors"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/svd"
)

// Causes of a rejected argument; test for them with errors.Is. Those of a model
// or of the options of its updates are svd's.
var (
	ErrNotFinite = errors.New("not finite")
	ErrRange     = errors.New("out of range")
	ErrLength    = errors.New("wrong length")
	ErrTime      = errors.New("before the last sample")
	ErrCentring  = errors.New("a model that is not centred")
)

// FieldError says which field or argument was rejected, and why.
type FieldError struct {
	// Field is its name, such as "Detector.Lag", "y[1]" or "len(y)".
	Field string
	// Value is what was found.
	Value any
	// Err is the cause, one of the Err variables of this package or of svd.
	Err error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("pronto: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// sampleError is what is wrong with a value: that it is not finite, or so large
// that its square might overflow.
func sampleError(v float64) error {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return ErrNotFinite
	case math.Abs(v) > MaxMagnitude:
		return ErrRange
	}
	return nil
}

// checkRange rejects a value of a configuration outside [low, high].
func checkRange(field string, v, low, high float64) error {
	if !(v >= low && v <= high) {
		return &FieldError{field, v, ErrRange}
	}
	return nil
}

// within names the field that an error is of by the struct that holds it.
func within(field string, err error) error {
	var own *FieldError
	if errors.As(err, &own) {
		return &FieldError{field + "." + own.Field, own.Value, own.Err}
	}
	var models *svd.FieldError
	if errors.As(err, &models) {
		return &FieldError{field + "." + models.Field, models.Value, models.Err}
	}
	return err
}
