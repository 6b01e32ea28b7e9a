package thesis

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/filter"
)

// Scalar is a filter of one channel as a pure function: it maps a state of type S, a
// plain value whose zero has seen nothing, and a sample to the next state.
// filter.Dynamic, [EMA], [MedianEMA] and [OneEuro] implement it, so that they can be
// exchanged and compared.
type Scalar[S any] interface {
	// Step returns the state after the sample x; on an error, s.
	Step(s S, x float64) (S, error)
	// Level returns the smoothed sample of a state.
	Level(s S) float64
}

var _ Scalar[filter.State] = filter.Dynamic{}

// valid reports whether v is an acceptable sample: finite, and small enough for
// differences not to overflow.
func valid(v float64) bool { return v >= -filter.MaxMagnitude && v <= filter.MaxMagnitude }

// reject returns the error for a value that is not valid: element index of the
// field, or the field itself for an index below 0.
func reject(name string, index int, v float64) error {
	cause := filter.ErrRange
	if math.IsNaN(v) || math.IsInf(v, 0) {
		cause = filter.ErrNotFinite
	}
	if index >= 0 {
		name = fmt.Sprintf("%s[%d]", name, index)
	}
	return &field.Error{Package: "thesis", Field: name, Value: v, Err: cause}
}
