package thesis

import (
	"math"

	"github.com/spazio-scheduler/spazio/filter"
)

// Defaults of OneEuro, for samples in [0,1] at 10 Hz.
const (
	// defaultRate is the thesis's sampling rate, in Hz.
	defaultRate = 10
	// defaultMinCutoff, in Hz, makes the gain at rest .3 at 10 Hz, that of
	// the other filters: f = a/(1−a)·rate/2π.
	defaultMinCutoff = 0.682
	// defaultBeta raises the cutoff to 2.6 Hz, the gain to .62, with the
	// first sample of a step of half the range.
	defaultBeta = 1
	// defaultDerivativeCutoff, in Hz, is that of the paper.
	defaultDerivativeCutoff = 1
)

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
	// Rate is the number of samples a second; in [1e-6, 1e6]. 0 means 10.
	Rate float64
	// MinCutoff is the cutoff frequency f_min at rest, in Hz; in [1e-6, 1e6]. 0
	// means .682.
	MinCutoff float64
	// Beta is β, the rise of the cutoff with the speed of the signal, in Hz per
	// unit of the samples a second; in [1e-6, 1e6]. 0 means 1.
	Beta float64
	// DerivativeCutoff is f_d, which smooths the speed itself, in Hz; in [1e-6, 1e6].
	// 0 means 1.
	DerivativeCutoff float64
}

var _ Scalar[OneEuroState] = OneEuro{}

// Validate returns a *field.Error for the first field that is out of range.
func (f OneEuro) Validate() error {
	for _, field := range [...]struct {
		name  string
		value float64
	}{
		{"Rate", f.Rate}, {"MinCutoff", f.MinCutoff}, {"Beta", f.Beta}, {"DerivativeCutoff", f.DerivativeCutoff},
	} {
		if field.value != 0 && !(field.value >= 1e-6 && field.value <= 1e6) {
			return reject(field.name, -1, field.value)
		}
	}
	return nil
}

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

// gain returns the weight of a sample at a cutoff frequency > 0, which may
// be infinite.
func (f OneEuro) gain(cutoff float64) float64 {
	return 1 / (1 + f.Rate/(2*math.Pi*cutoff))
}

// Step returns the state after the sample x. A *field.Error reports an x that
// is not finite or beyond filter.MaxMagnitude, or a state that Step cannot have
// returned, or a OneEuro that is not valid; the state returned is then s.
func (f OneEuro) Step(s OneEuroState, x float64) (OneEuroState, error) {
	if err := f.Validate(); err != nil {
		return s, err
	}
	f.Rate = or(f.Rate, defaultRate)
	switch {
	case !valid(x):
		return s, reject("x", -1, x)
	case !valid(s.Level):
		return s, reject("Level", -1, s.Level)
	case !(math.Abs(s.Speed) <= 2*filter.MaxMagnitude*f.Rate):
		return s, reject("Speed", -1, s.Speed)
	case !s.Started:
		return OneEuroState{Level: x, Started: true}, nil
	}
	s.Speed = approach(s.Speed, (x-s.Level)*f.Rate, f.gain(or(f.DerivativeCutoff, defaultDerivativeCutoff)))
	s.Level = approach(s.Level, x, f.gain(or(f.MinCutoff, defaultMinCutoff)+or(f.Beta, defaultBeta)*math.Abs(s.Speed)))
	return s, nil
}

// Level returns s.Level.
func (OneEuro) Level(s OneEuroState) float64 { return s.Level }
