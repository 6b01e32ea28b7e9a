package thesis

import (
	"math"

	"github.com/spazio-scheduler/spazio/filter"
)

// Defaults of OneEuroConfig, for samples in [0,1] at 10 Hz.
const (
	// DefaultRate is the thesis's sampling rate, in Hz.
	DefaultRate = 10
	// DefaultMinCutoff, in Hz, makes the gain at rest .3 at 10 Hz, that of
	// the other filters: f = a/(1−a)·rate/2π.
	DefaultMinCutoff = 0.682
	// DefaultBeta raises the cutoff to 2.6 Hz, the gain to .62, with the
	// first sample of a step of half the range.
	DefaultBeta = 1
	// DefaultDerivativeCutoff, in Hz, is that of the paper.
	DefaultDerivativeCutoff = 1
)

// OneEuroConfig tunes the One Euro filter. Zero fields take the documented
// default. It is read-only and may be shared by any number of goroutines.
type OneEuroConfig struct {
	// Rate is the number of samples a second; in [1e-6, 1e6].
	Rate float64
	// MinCutoff is the cutoff frequency at rest, in Hz; in [1e-6, 1e6].
	MinCutoff float64
	// Beta is the rise of the cutoff with the speed of the signal, in Hz per
	// unit of the samples a second; in [1e-6, 1e6].
	Beta float64
	// DerivativeCutoff smooths the speed itself, in Hz; in [1e-6, 1e6].
	DerivativeCutoff float64
}

// Validate returns a *field.Error for the first field that is out of range.
func (c OneEuroConfig) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"Rate", c.Rate}, {"MinCutoff", c.MinCutoff}, {"Beta", c.Beta}, {"DerivativeCutoff", c.DerivativeCutoff},
	} {
		if f.value != 0 && !(f.value >= 1e-6 && f.value <= 1e6) {
			return reject(f.name, -1, f.value)
		}
	}
	return nil
}

// OneEuro is the speed-adaptive filter of G. Casiez, N. Roussel and D. Vogel,
// "1€ Filter", CHI 2012: an average whose cutoff rises with the speed of the
// signal, to lag less when it moves.
//
//	ẋ += a(f_d)·((x − m)·rate − ẋ)
//	m += a(f_min + β·|ẋ|)·(x − m),  a(f) = 1/(1 + rate/(2πf))
//
// The first sample sets m, and ẋ to 0. The zero value is the default filter.
// A OneEuro is a plain value, only read by its methods, that any number of
// goroutines may share.
type OneEuro struct {
	rate, least, beta float64 // least is f_min; a rate of 0 stands for the defaults
	derivative        float64 // a(f_d)
}

var (
	_ Scalar[OneEuroState] = OneEuro{}

	defaultOneEuro = newOneEuro(OneEuroConfig{})
)

// OneEuroState is the filter of one channel; the zero value has seen nothing.
// It is a plain value.
type OneEuroState struct {
	// Level is m, in the unit of the samples.
	Level float64
	// Speed is ẋ, in that unit a second.
	Speed float64
	// Started is false until the first sample, which sets Level.
	Started bool
}

// NewOneEuro returns the filter that c describes, or the error of
// [OneEuroConfig.Validate].
func NewOneEuro(c OneEuroConfig) (OneEuro, error) {
	if err := c.Validate(); err != nil {
		return OneEuro{}, err
	}
	return newOneEuro(c), nil
}

// newOneEuro is NewOneEuro of a valid Config.
func newOneEuro(c OneEuroConfig) OneEuro {
	or := func(v, otherwise float64) float64 {
		if v == 0 {
			return otherwise
		}
		return v
	}
	f := OneEuro{
		rate:  or(c.Rate, DefaultRate),
		least: or(c.MinCutoff, DefaultMinCutoff),
		beta:  or(c.Beta, DefaultBeta),
	}
	f.derivative = f.gain(or(c.DerivativeCutoff, DefaultDerivativeCutoff))
	return f
}

// gain returns the weight of a sample at a cutoff frequency > 0, which may
// be infinite.
func (f OneEuro) gain(cutoff float64) float64 {
	return 1 / (1 + f.rate/(2*math.Pi*cutoff))
}

// Step returns the state after the sample x. A *field.Error reports an x that
// is not finite or beyond filter.MaxMagnitude, or a state that Step cannot have
// returned; the state returned is then s.
func (f OneEuro) Step(s OneEuroState, x float64) (OneEuroState, error) {
	if f.rate == 0 {
		f = defaultOneEuro
	}
	switch {
	case !valid(x):
		return s, reject("x", -1, x)
	case !valid(s.Level):
		return s, reject("Level", -1, s.Level)
	case !(math.Abs(s.Speed) <= 2*filter.MaxMagnitude*f.rate):
		return s, reject("Speed", -1, s.Speed)
	case !s.Started:
		return OneEuroState{Level: x, Started: true}, nil
	}
	s.Speed = approach(s.Speed, (x-s.Level)*f.rate, f.derivative)
	s.Level = approach(s.Level, x, f.gain(f.least+f.beta*math.Abs(s.Speed)))
	return s, nil
}

// Level returns s.Level.
func (OneEuro) Level(s OneEuroState) float64 { return s.Level }
