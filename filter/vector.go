package filter

// Scalar is a filter of one channel as a pure function: it maps a state of
// type S, a plain value whose zero has seen nothing, and a sample to the next
// state. [Dynamic], [EMA], [MedianEMA] and [OneEuro] implement it.
type Scalar[S any] interface {
	// Step returns the state after the sample x; on an error, s.
	Step(s S, x float64) (S, error)
	// Level returns the smoothed sample of a state.
	Level(s S) float64
}

// Vector runs a Scalar on each of several channels. Of a [Dynamic] it does
// what [Bank] does, which is faster. It must not be used by two goroutines at
// the same time.
type Vector[S any] struct {
	filter       Scalar[S]
	states, next []S
}

var _ Filter = (*Vector[State])(nil)

// NewVector returns a Vector for the given number of channels, at least 1. A
// *FieldError reports an invalid argument.
func NewVector[S any](channels int, f Scalar[S]) (*Vector[S], error) {
	if channels < 1 {
		return nil, reject("channels", -1, float64(channels))
	}
	if f == nil {
		return nil, &FieldError{"f", nil, ErrNil}
	}
	return &Vector[S]{filter: f, states: make([]S, channels), next: make([]S, channels)}, nil
}

// Channels returns the number of channels.
func (v *Vector[S]) Channels() int { return len(v.states) }

// StepTo takes the next sample of each channel and writes the levels to dst,
// which may be x and is grown as append does; otherwise StepTo does not allocate.
// A *FieldError reports a wrong length or a sample that is not finite or
// beyond MaxMagnitude, and a Scalar may have errors of its own; then no
// channel has moved.
func (v *Vector[S]) StepTo(dst, x []float64) ([]float64, error) {
	dst, err := checkStep(len(v.states), dst, x)
	if err != nil {
		return nil, err
	}
	for i, s := range v.states {
		if v.next[i], err = v.filter.Step(s, x[i]); err != nil {
			return nil, err
		}
	}
	v.states, v.next = v.next, v.states
	for i, s := range v.states {
		dst[i] = v.filter.Level(s)
	}
	return dst, nil
}

// StatesTo appends the state of each channel to dst[:0] and returns it.
func (v *Vector[S]) StatesTo(dst []S) []S { return append(dst[:0], v.states...) }

// Reset forgets all samples.
func (v *Vector[S]) Reset() { clear(v.states) }
