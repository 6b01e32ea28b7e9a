package filter

// MaxMagnitude bounds the absolute value of a sample, so that differences of
// samples do not overflow.
const MaxMagnitude = 1e300

// Filter smooths a vector of channels, each on its own. The filters of this
// package implement it, so that they can be exchanged and compared.
type Filter interface {
	// Channels returns d, the length of the vectors.
	Channels() int
	// StepTo takes the next sample x of each channel, writes the smoothed
	// levels to dst and returns dst. A nil dst is allocated; dst may be x.
	// If an error is returned neither dst nor any channel has changed.
	StepTo(dst, x []float64) ([]float64, error)
	// Reset forgets all samples.
	Reset()
}

// checkStep validates the arguments of StepTo and returns dst, allocated if
// it was nil.
func checkStep(channels int, dst, x []float64) ([]float64, error) {
	if len(x) != channels {
		return nil, &FieldError{Field: "len(x)", Index: -1, Value: float64(len(x)), Err: ErrLength}
	}
	if dst != nil && len(dst) != channels {
		return nil, &FieldError{Field: "len(dst)", Index: -1, Value: float64(len(dst)), Err: ErrLength}
	}
	for i, v := range x {
		if !valid(v) {
			return nil, reject("x", i, v)
		}
	}
	if dst == nil {
		dst = make([]float64, channels)
	}
	return dst, nil
}
