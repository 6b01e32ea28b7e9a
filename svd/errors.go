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

// refusal is an error with what it names.
type refusal struct {
	error
	field string
	value any
	cause error
}

// Unwrap returns the cause.
func (r *refusal) Unwrap() error { return r.cause }

// refuse returns an error that names the field or argument, such as "Sigma[1]",
// "len(U)" or "samples[3][2]", the value found there and the cause, one of the Err
// variables.
func refuse(field string, value any, cause error) error {
	return &refusal{fmt.Errorf("svd: %s = %v: %w", field, value, cause), field, value, cause}
}

// Refused returns the field or argument that an error of this package names, the value
// found there and the cause, for packages that refuse a model as part of something
// larger. Of another error it returns the error alone.
func Refused(err error) (field string, value any, cause error) {
	var r *refusal
	if errors.As(err, &r) {
		return r.field, r.value, r.cause
	}
	return "", nil, err
}

// refuseElement is refuse of one element of a field.
func refuseElement(field string, index int, value float64, cause error) error {
	return refuse(fmt.Sprintf("%s[%d]", field, index), value, cause)
}
