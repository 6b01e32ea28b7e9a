package kalman

import (
	"fmt"
	"math"
)

// Defaults of Config. On the development seeds of the synthetic regimes the
// error of avail is flat about the drifts: within a twentieth of the least from
// .001 to .01 for the level and at .01 for the cost.
const (
	DefaultPrior       = 0.25  // a pod a core on four cores
	DefaultNoise       = 4e-4  // R: a headroom read to ±.02
	DefaultLevelDrift  = 0.003 // Q_C/R
	DefaultCostDrift   = 0.01  // Q_c/R
	DefaultCostSD      = 0.5
	DefaultGate        = 9 // three standard deviations
	DefaultPatience    = 5
	DefaultSaturation  = 0.98
	DefaultKnown       = 0.25
	DefaultFloor       = 0.125
	DefaultFleetSpread = 0.5
)

// These values switch a test off.
const (
	// NoGate as Config.Gate accepts every measurement at once.
	NoGate = math.MaxFloat64
	// NeverSaturated as Config.Saturation takes a full channel's measurement for
	// exact.
	NeverSaturated = 2
)

// MaxPods bounds the pod count of a measurement. It is far above what a node
// runs, and squares of it stay far below what overflows.
const MaxPods = 1e6

// Config tunes the estimator of one channel. Zero fields mean the defaults.
type Config struct {
	// Prior is the cost of a pod before anything was seen, in [1e−6, 1e3]; 0
	// means .25, a pod a core on four cores.
	Prior float64
	// PriorSD is the standard deviation of the cost at the start, relative to
	// Prior, in [1e−6, 1e3]; 0 means .5.
	PriorSD float64
	// Spread is κ, how much pods differ: the standard deviation of what single
	// pods take relative to the cost, at most 10. 0 means that all are alike.
	Spread float64
	// Noise is R, the variance of one headroom measurement, in [1e−12, 1]; 0
	// means 4e−4. The filter follows the measured noise within a factor of 16.
	Noise float64
	// LevelDrift and CostDrift are Q_C/R and Q_c/R, the process noises of a
	// step, at most 1e6; 0 means .003 and .01.
	LevelDrift, CostDrift float64
	// Gate is the largest ν²/S that is not an outlier; 0 means 9, and NoGate
	// takes everything.
	Gate float64
	// Patience is the number of outliers in a row that make a change, at most
	// 100; 0 means 5.
	Patience int
	// Saturation is the usage from which the channel is full and a measurement
	// only a bound, at most 1; 0 means .98, and NeverSaturated that every
	// measurement is exact.
	Saturation float64
	// Known is the share of the prior variance below which the cost counts as
	// known, at most 1; 0 means .25.
	Known float64
	// Floor bounds the cost from below, relative to the prior, at most 1; 0
	// means 1/8. A cost that has come down to it is not known.
	Floor float64
}

// Validate returns an ErrInvalid for the first field out of its range.
func (c Config) Validate() error {
	if c.Patience < 0 || c.Patience > 100 {
		return refuse("Patience", c.Patience, "must be in [0, 100]")
	}
	for _, f := range [...]struct {
		name             string
		value, low, high float64
	}{
		{"Prior", c.Prior, 1e-6, 1e3},
		{"PriorSD", c.PriorSD, 1e-6, 1e3},
		{"Spread", c.Spread, 0, 10},
		{"Noise", c.Noise, 1e-12, 1},
		{"LevelDrift", c.LevelDrift, 0, 1e6},
		{"CostDrift", c.CostDrift, 0, 1e6},
		{"Gate", c.Gate, 0, math.MaxFloat64},
		{"Saturation", c.Saturation, 0, 2},
		{"Known", c.Known, 0, 1},
		{"Floor", c.Floor, 0, 1},
	} {
		if f.value != 0 && !(f.value >= f.low && f.value <= f.high) {
			return refuse(f.name, f.value, fmt.Sprintf("must be 0 or in [%g, %g]", f.low, f.high))
		}
	}
	return nil
}

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	def := func(f *float64, value float64) {
		if *f == 0 {
			*f = value
		}
	}
	def(&c.Prior, DefaultPrior)
	def(&c.PriorSD, DefaultCostSD)
	def(&c.Noise, DefaultNoise)
	def(&c.LevelDrift, DefaultLevelDrift)
	def(&c.CostDrift, DefaultCostDrift)
	def(&c.Gate, DefaultGate)
	def(&c.Saturation, DefaultSaturation)
	def(&c.Known, DefaultKnown)
	def(&c.Floor, DefaultFloor)
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	return c
}

// tuning is a complete Config with what follows from it, worked out once.
type tuning struct {
	Config
	censored, near     float64 // headroom up to which a channel is full, and nearly full
	priorVar, knownVar float64 // of the cost
	floor              float64 // of the cost
	minNoise, maxNoise float64 // bounds of R
	spreadVar          float64 // κ²
}

func (c Config) tuning() tuning {
	c = c.WithDefaults()
	sd := c.PriorSD * c.Prior
	return tuning{
		Config:   c,
		censored: 1 - c.Saturation, near: 1 - c.Saturation + nearFull,
		priorVar: sd * sd, knownVar: c.Known * sd * sd,
		floor:    c.Floor * c.Prior,
		minNoise: c.Noise / noiseRange, maxNoise: c.Noise * noiseRange,
		spreadVar: c.Spread * c.Spread,
	}
}
