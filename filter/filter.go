package filter

// MaxMagnitude bounds the absolute value of a sample, so that differences of
// samples do not overflow.
const MaxMagnitude = 1e300

// Scalar is a filter of one channel as a pure function: it maps a state of
// type S, a plain value whose zero has seen nothing, and a sample to the next
// state. [Dynamic], [EMA], [MedianEMA] and [OneEuro] implement it, so that they
// can be exchanged and compared.
type Scalar[S any] interface {
	// Step returns the state after the sample x; on an error, s.
	Step(s S, x float64) (S, error)
	// Level returns the smoothed sample of a state.
	Level(s S) float64
}
