package kalman

import (
	"fmt"
	"math"
)

// Defaults of Config. The ratios of the noises follow from a grid over
// synthetic traces: R near half the variance of Δz at constant n, Q_C/R between
// .01 and .1, Q_c a tenth of Q_C.
const (
	DefaultMeanGain    = 0.1
	DefaultNoise       = 4e-4 // R: a headroom read to ±.02
	DefaultLevelDrift  = 0.03 // Q_C/R
	DefaultCostDrift   = 0.003
	DefaultCostSD      = 0.5
	DefaultForgetting  = 0.98 // a memory of 50 steps
	DefaultGate        = 9    // three standard deviations
	DefaultPatience    = 5
	DefaultSaturation  = 0.98
	DefaultKnown       = 0.25
	DefaultFloor       = 0.125
	DefaultFleetSpread = 0.5
)

// Config tunes the estimator of one channel. Zero fields mean the defaults.
type Config struct {
	// Method is the estimator; the zero value is Centred.
	Method Method
	// Prior is the cost of a pod before anything was seen, > 0; 0 means .25,
	// a pod a core on four cores.
	Prior float64
	// PriorSD is the standard deviation of the cost at the start, relative to
	// Prior; 0 means .5.
	PriorSD float64
	// MeanGain is a, the gain of the running mean n̄, in (0, 1]; 0 means .1.
	MeanGain float64
	// Noise is R, the variance of one headroom measurement; 0 means 4e−4. The
	// filter follows the measured noise within a factor of 16 of it.
	Noise float64
	// LevelDrift and CostDrift are Q_C/R and Q_c/R, the process noises of a
	// step; 0 means .03 and .003.
	LevelDrift, CostDrift float64
	// Forgetting is λ of Recursive, the weight that the past keeps at each step,
	// in (0, 1]; 0 means .98.
	Forgetting float64
	// Gate is the largest ν²/S that is not an outlier; 0 means 9.
	Gate float64
	// Patience is the number of outliers in a row that make a change; 0 means 5.
	Patience int
	// Saturation is the usage from which a measurement is censored; 0 means .98.
	Saturation float64
	// Known is the share of the prior variance below which the cost counts as
	// known; 0 means .25.
	Known float64
	// Floor bounds the cost from below, relative to the prior; 0 means 1/8.
	Floor float64
}

// FieldError says which field or argument was refused and why.
type FieldError struct {
	Field  string
	Value  float64
	Reason string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("kalman: %s = %v: %s", e.Field, e.Value, e.Reason)
}

// Validate reports the first field out of its range as a *FieldError.
func (c Config) Validate() error {
	notNegative := []struct {
		name  string
		value float64
	}{
		{"Prior", c.Prior}, {"PriorSD", c.PriorSD}, {"MeanGain", c.MeanGain}, {"Noise", c.Noise},
		{"LevelDrift", c.LevelDrift}, {"CostDrift", c.CostDrift}, {"Gate", c.Gate}, {"Forgetting", c.Forgetting},
		{"Saturation", c.Saturation}, {"Known", c.Known}, {"Floor", c.Floor},
	}
	for _, f := range notNegative {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return &FieldError{f.name, f.value, "must be finite and not negative"}
		}
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"MeanGain", c.MeanGain}, {"Saturation", c.Saturation}, {"Known", c.Known}, {"Floor", c.Floor}, {"Forgetting", c.Forgetting}} {
		if f.value > 1 {
			return &FieldError{f.name, f.value, "must be at most 1"}
		}
	}
	if c.Method > Recursive {
		return &FieldError{"Method", float64(c.Method), "is not a method"}
	}
	if c.Patience < 0 {
		return &FieldError{"Patience", float64(c.Patience), "must not be negative"}
	}
	return nil
}

func (c Config) withDefaults() Config {
	def := func(f *float64, value float64) {
		if *f == 0 {
			*f = value
		}
	}
	def(&c.Prior, 0.25)
	def(&c.PriorSD, DefaultCostSD)
	def(&c.MeanGain, DefaultMeanGain)
	def(&c.Noise, DefaultNoise)
	def(&c.LevelDrift, DefaultLevelDrift)
	def(&c.CostDrift, DefaultCostDrift)
	def(&c.Forgetting, DefaultForgetting)
	def(&c.Gate, DefaultGate)
	def(&c.Saturation, DefaultSaturation)
	def(&c.Known, DefaultKnown)
	def(&c.Floor, DefaultFloor)
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	return c
}
