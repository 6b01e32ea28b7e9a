package filter

import "slices"

// MaxMagnitude bounds the absolute value of a sample, so that differences of
// samples do not overflow.
const MaxMagnitude = 1e300

// Filter smooths a vector of channels, each on its own. The filters of this
// package implement it, so that they can be exchanged and compared.
type Filter interface {
	// Channels returns d, the length of the vectors.
	Channels() int
	// StepTo takes the next sample x of each channel, writes the smoothed
	// levels to dst, grown as append does, and returns it; dst may be x.
	// If an error is returned neither dst nor any channel has changed.
	StepTo(dst, x []float64) ([]float64, error)
	// Reset forgets all samples.
	Reset()
}

// checkStep validates the arguments of StepTo and returns dst of the right
// length.
func checkStep(channels int, dst, x []float64) ([]float64, error) {
	if len(x) != channels {
		return nil, &FieldError{"len(x)", len(x), ErrLength}
	}
	for i, v := range x {
		if !valid(v) {
			return nil, reject("x", i, v)
		}
	}
	return slices.Grow(dst[:0], channels)[:channels], nil
}
