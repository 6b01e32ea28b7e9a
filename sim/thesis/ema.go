package thesis

import "github.com/spazio-scheduler/spazio/filter"

// DefaultGain is the weight of a new sample in the plain average: that of the
// dynamic EMA within its gate.
const DefaultGain = filter.DefaultNorm

// EMAConfig tunes the exponential moving average. Zero fields take the
// documented default. It is read-only and may be shared by any number of
// goroutines.
type EMAConfig struct {
	// Gain is a, the weight of a new sample; in (0, 1]. 0 means DefaultGain.
	Gain float64
}

// Validate returns a *field.Error if Gain is out of range.
func (c EMAConfig) Validate() error { return checkGain(c.Gain) }

func checkGain(gain float64) error {
	if !(gain >= 0 && gain <= 1) {
		return reject("Gain", -1, gain)
	}
	return nil
}

// EMA is the exponential moving average with one gain, the baseline of all
// filters:
//
//	m += a·(x − m)
//
// The first sample sets m. A spike of n samples leaks 1 − (1−a)ⁿ of its
// height. The zero value is the default filter. An EMA is a plain value, only
// read by its methods, that any number of goroutines may share.
type EMA struct {
	gain float64 // 0 stands for DefaultGain
}

var _ Scalar[EMAState] = EMA{}

// EMAState is the average of one channel; the zero value has seen nothing. It
// is a plain value.
type EMAState struct {
	// Level is m, in the unit of the samples.
	Level float64
	// Started is false until the first sample, which sets Level.
	Started bool
}

// NewEMA returns the filter that c describes, or the error of
// [EMAConfig.Validate].
func NewEMA(c EMAConfig) (EMA, error) {
	if err := c.Validate(); err != nil {
		return EMA{}, err
	}
	return EMA{c.Gain}, nil
}

// Step returns the state after the sample x. A *field.Error reports an x or a
// Level that is not finite or beyond filter.MaxMagnitude; the state returned is
// then s.
func (f EMA) Step(s EMAState, x float64) (EMAState, error) {
	if !valid(x) {
		return s, reject("x", -1, x)
	}
	if !valid(s.Level) {
		return s, reject("Level", -1, s.Level)
	}
	if !s.Started {
		return EMAState{Level: x, Started: true}, nil
	}
	gain := f.gain
	if gain == 0 {
		gain = DefaultGain
	}
	s.Level = approach(s.Level, x, gain)
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
