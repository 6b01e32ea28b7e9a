package thesis

import "github.com/spazio-scheduler/spazio/filter"

// defaultGain is the weight of a new sample in the plain average: that of the
// dynamic EMA within its gate.
const defaultGain = filter.DefaultNorm

// EMA is the exponential moving average with one gain, the baseline of all
// filters:
//
//	m += a·(x − m)
//
// The first sample sets m. A spike of n samples leaks 1 − (1−a)ⁿ of its
// height. The zero value is the default filter. An EMA is a plain value, only
// read by its methods, that any number of goroutines may share.
type EMA struct {
	// Gain is a, the weight of a new sample; in (0, 1]. 0 means .3.
	Gain float64
}

var _ Scalar[EMAState] = EMA{}

// Validate returns a *field.Error if Gain is out of range.
func (f EMA) Validate() error { return checkGain(f.Gain) }

func checkGain(gain float64) error {
	if !(gain >= 0 && gain <= 1) {
		return reject("Gain", -1, gain)
	}
	return nil
}

// EMAState is the average of one channel; the zero value has seen nothing. It
// is a plain value.
type EMAState struct {
	// Level is m, in the unit of the samples.
	Level float64
	// Started is false until the first sample, which sets Level.
	Started bool
}

// Step returns the state after the sample x. A *field.Error reports an x or a
// Level that is not finite or beyond filter.MaxMagnitude, or an EMA that is not
// valid; the state returned is then s.
func (f EMA) Step(s EMAState, x float64) (EMAState, error) {
	if !valid(x) {
		return s, reject("x", -1, x)
	}
	if !valid(s.Level) {
		return s, reject("Level", -1, s.Level)
	}
	if err := f.Validate(); err != nil {
		return s, err
	}
	if !s.Started {
		return EMAState{Level: x, Started: true}, nil
	}
	s.Level = approach(s.Level, x, or(f.Gain, defaultGain))
	return s, nil
}

// Level returns s.Level.
func (EMA) Level(s EMAState) float64 { return s.Level }

// approach moves a level by a share gain of its distance to x, in (0, 1].
func approach(level, x, gain float64) float64 {
	e := x - level
	next := level + gain*e
	if (next > x) == (e > 0) {
		return x // rounding must not carry the level past the sample
	}
	return next
}

// or is v, or the default of a field that is 0.
func or(v, otherwise float64) float64 {
	if v == 0 {
		return otherwise
	}
	return v
}
