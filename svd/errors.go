package svd

import (
	"errors"
	"fmt"
)

// Causes of a rejected argument; test for them with errors.Is. The error's text names
// the field or argument, and its value.
var (
	ErrNotFinite   = errors.New("not finite")
	ErrRange       = errors.New("out of range")
	ErrLength      = errors.New("wrong length")
	ErrOrder       = errors.New("not in descending order")
	ErrOrthonormal = errors.New("columns not orthonormal")
	ErrIndefinite  = errors.New("not symmetric positive semidefinite")
	ErrCentring    = errors.New("centred and not centred do not mix")
)

// refuse returns an error that names the field or argument, such as "Sigma[1]",
// "len(U)" or "samples[3][2]", the value found there and the cause, one of the Err
// variables.
func refuse(field string, value any, cause error) error {
	return fmt.Errorf("svd: %s = %v: %w", field, value, cause)
}

// refuseElement is refuse of one element of a field.
func refuseElement(field string, index int, value float64, cause error) error {
	return refuse(fmt.Sprintf("%s[%d]", field, index), value, cause)
}
