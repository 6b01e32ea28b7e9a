package filter

import (
	"errors"
	"fmt"
	"math"
)

// MaxMagnitude bounds the absolute value of a sample, so that differences of
// samples do not overflow.
const MaxMagnitude = 1e300

// Causes of a rejected argument; test for them with errors.Is. The error's text names
// the field or argument, and its value.
var (
	ErrNotFinite = errors.New("not finite")
	ErrRange     = errors.New("out of range")
	ErrLength    = errors.New("wrong length")
)

// valid reports whether v is an acceptable sample: finite, and small enough for
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
	return refuse(field, v, cause)
}

// refuse returns an error that names the field or argument, the value found there
// and the cause, one of the Err variables.
func refuse(field string, value any, cause error) error {
	return fmt.Errorf("filter: %s = %v: %w", field, value, cause)
}
