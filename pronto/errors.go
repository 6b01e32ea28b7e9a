package pronto

import (
	"errors"
	"math"

	"github.com/spazio-scheduler/spazio/field"
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
func checkRange(name string, v, low, high float64) error {
	if !(v >= low && v <= high) {
		return &field.Error{Package: "pronto", Field: name, Value: v, Err: ErrRange}
	}
	return nil
}

// within names the field that an error is of by the struct that holds it.
func within(name string, err error) error {
	var own *field.Error
	if errors.As(err, &own) {
		return &field.Error{Package: "pronto", Field: name + "." + own.Field, Value: own.Value, Err: own.Err}
	}
	return err
}
