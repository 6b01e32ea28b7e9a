package filter

import (
	"math"
	"slices"
)

// scaleGain is the weight of a new deviation in the noise scale v: a memory of
// 20 samples, two seconds at 10 Hz, so that the gate follows a change of the
// workload's noise but not a single sample.
const scaleGain = 0.05

// Defaults of Config, for samples in [0,1] at 10 Hz.
const (
	// DefaultN: samples average an interval, so a spike of 300 ms starts
	// anywhere within one and touches four of them. The fifth confirms.
	DefaultN = 5
	// DefaultNorm takes half of a deviation within the gate in two samples.
	DefaultNorm = 0.3
	// DefaultHold lets a spike of n < N samples leak about 5n % of its height.
	DefaultHold = 0.05
	// DefaultFast takes 80 % of a confirmed step with each sample.
	DefaultFast = 0.8
	// DefaultDelta is the least gate: 3 % of a channel is no spike.
	DefaultDelta = 0.03
	// DefaultKappa: three mean deviations are 2.4 standard deviations of a
	// Gaussian noise, which leaves the gate once in 60 samples and never N
	// times in a row. A wider gate lets spikes pass in noise: see the package
	// doc.
	DefaultKappa = 3
)

// Config tunes the dynamic EMA. Zero fields take the documented default, so
// the zero value is the default filter. A Config is read-only and may be
// shared by any number of goroutines.
type Config struct {
	// N is the number of consecutive samples beyond the gate, on one side,
	// from which a deviation is a new level; ≥ 1.
	N int
	// Norm, Hold and Fast are the gains a_norm within the gate, a_hold while
	// a deviation is unconfirmed and a_fast once it is; in (0, 1].
	Norm, Hold, Fast float64
	// Delta is the least half-width δ of the gate, in the unit of the
	// samples; in (0, MaxMagnitude].
	Delta float64
	// Kappa is the half-width κ of the gate in mean deviations; in (0, 1e6].
	Kappa float64
}

// Validate returns an error for the first field that is out of range.
func (c Config) Validate() error {
	switch {
	case c.N < 0:
		return reject("N", -1, float64(c.N))
	case !(c.Norm >= 0 && c.Norm <= 1):
		return reject("Norm", -1, c.Norm)
	case !(c.Hold >= 0 && c.Hold <= 1):
		return reject("Hold", -1, c.Hold)
	case !(c.Fast >= 0 && c.Fast <= 1):
		return reject("Fast", -1, c.Fast)
	case !(c.Delta >= 0 && c.Delta <= MaxMagnitude):
		return reject("Delta", -1, c.Delta)
	case !(c.Kappa >= 0 && c.Kappa <= 1e6):
		return reject("Kappa", -1, c.Kappa)
	}
	return nil
}

// withDefaults returns c with its zero fields set.
func (c Config) withDefaults() Config {
	if c.N == 0 {
		c.N = DefaultN
	}
	if c.Norm == 0 {
		c.Norm = DefaultNorm
	}
	if c.Hold == 0 {
		c.Hold = DefaultHold
	}
	if c.Fast == 0 {
		c.Fast = DefaultFast
	}
	if c.Delta == 0 {
		c.Delta = DefaultDelta
	}
	if c.Kappa == 0 {
		c.Kappa = DefaultKappa
	}
	return c
}

// State is the dynamic EMA of one channel; the zero value has seen nothing.
// It is a plain value.
type State struct {
	// Level is m, the smoothed sample, in the unit of the samples.
	Level float64
	// Scale is v ≥ 0, the mean absolute deviation within the gate.
	Scale float64
	// Run counts the latest samples beyond the gate on one side, up to N:
	// positive above, negative below, 0 within.
	Run int
	// Started is false until the first sample, which sets Level.
	Started bool
}

// Step returns the state after the sample x (see the package doc for the
// formulas). Level stays between its former value and x. It validates c on
// each call; [Dynamic.Step] has done so once and for all.
//
// An error reports an x that is not finite or beyond MaxMagnitude, an
// invalid Config, or a State that Step cannot have returned; the state
// returned is then s.
func Step(s State, x float64, c Config) (State, error) {
	if c == (Config{}) {
		return s.step(x, &defaults)
	}
	if err := c.Validate(); err != nil {
		return s, err
	}
	c = c.withDefaults()
	return s.step(x, &c)
}

// Dynamic is the dynamic EMA by a Config that is known to be valid. The zero
// value is the default filter. It is a plain value, only read by its methods,
// that any number of goroutines may share.
type Dynamic struct {
	config *Config // without zero fields, never written; nil for the default
}

var defaults = Config{}.withDefaults()

// NewDynamic returns the filter that c describes, or the error of
// [Config.Validate].
func NewDynamic(c Config) (Dynamic, error) {
	if err := c.Validate(); err != nil {
		return Dynamic{}, err
	}
	c = c.withDefaults()
	return Dynamic{&c}, nil
}

// Step is the package's [Step] by the filter's Config.
func (d Dynamic) Step(s State, x float64) (State, error) {
	c := d.config
	if c == nil {
		c = &defaults
	}
	return s.step(x, c)
}

// Level returns s.Level.
func (Dynamic) Level(s State) float64 { return s.Level }

// step is Step for a Config without zero fields.
func (s State) step(x float64, c *Config) (State, error) {
	if !valid(x) || !valid(s.Level) || !(s.Scale >= 0 && s.Scale <= 2*MaxMagnitude) || s.Run > c.N || s.Run < -c.N {
		return s, s.refuse(x)
	}
	return s.advance(x, c), nil
}

// refuse names what is wrong with a sample or the state it meets.
func (s State) refuse(x float64) error {
	switch {
	case !valid(x):
		return reject("x", -1, x)
	case !valid(s.Level):
		return reject("Level", -1, s.Level)
	case !(s.Scale >= 0 && s.Scale <= 2*MaxMagnitude):
		return reject("Scale", -1, s.Scale)
	}
	return reject("Run", -1, float64(s.Run))
}

// advance is Step for valid arguments and a Config without zero fields.
func (s State) advance(x float64, c *Config) State {
	if !s.Started {
		return State{Level: x, Started: true}
	}
	e := x - s.Level
	size := math.Abs(e)
	gain := c.Norm
	if size <= c.Delta || size <= c.Kappa*s.Scale {
		s.Run = 0
		s.Scale += scaleGain * (size - s.Scale)
	} else {
		s.Run = extend(s.Run, e > 0, c.N)
		gain = c.Hold
		if s.Run == c.N || s.Run == -c.N {
			gain = c.Fast
		}
	}
	level := s.Level + gain*e
	if (level > x) == (e > 0) {
		level = x // rounding must not carry the level past the sample
	}
	s.Level = level
	return s
}

// extend returns the run after one more sample above or below the gate. It
// stops counting at n.
func extend(run int, above bool, n int) int {
	switch {
	case above && run < 0:
		return 1
	case above:
		return min(run, n-1) + 1
	case run > 0:
		return -1
	default:
		return max(run, 1-n) - 1
	}
}

// Bank is a dynamic EMA for each of several channels. It must not be used by
// two goroutines at the same time.
type Bank struct {
	config Config // without zero fields
	states []State
}

// NewBank returns a Bank for the given number of channels, at least 1. An
// error reports an invalid argument.
func NewBank(channels int, c Config) (*Bank, error) {
	if channels < 1 {
		return nil, reject("channels", -1, float64(channels))
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Bank{config: c.withDefaults(), states: make([]State, channels)}, nil
}

// Channels returns the number of channels.
func (b *Bank) Channels() int { return len(b.states) }

// StepTo takes the next sample of each channel and writes the levels to dst,
// which may be x and is grown as append does; otherwise StepTo does not allocate.
// An error reports a wrong length or a sample that is not finite or beyond MaxMagnitude;
// StepTo then returns nil, and neither dst nor any channel has changed.
func (b *Bank) StepTo(dst, x []float64) ([]float64, error) {
	if len(x) != len(b.states) {
		return nil, refuse("len(x)", len(x), ErrLength)
	}
	for i, v := range x {
		if !valid(v) {
			return nil, reject("x", i, v)
		}
	}
	dst = slices.Grow(dst[:0], len(x))[:len(x)]
	for i, v := range x {
		b.states[i] = b.states[i].advance(v, &b.config)
		dst[i] = b.states[i].Level
	}
	return dst, nil
}

// StatesTo appends the state of each channel to dst[:0] and returns it.
func (b *Bank) StatesTo(dst []State) []State { return append(dst[:0], b.states...) }

// SetStates replaces the state of each channel: a Bank of the same Config then
// goes on, to the last bit, as the one that states are from. An error
// reports a wrong length or a State that Step cannot have returned; then
// nothing has changed.
func (b *Bank) SetStates(states []State) error {
	if len(states) != len(b.states) {
		return refuse("len(states)", len(states), ErrLength)
	}
	for i, s := range states {
		switch {
		case !valid(s.Level):
			return reject("Level", i, s.Level)
		case !(s.Scale >= 0 && s.Scale <= 2*MaxMagnitude):
			return reject("Scale", i, s.Scale)
		case s.Run < -b.config.N || s.Run > b.config.N:
			return reject("Run", i, float64(s.Run))
		}
	}
	copy(b.states, states)
	return nil
}

// Reset forgets all samples: the next one sets the levels.
func (b *Bank) Reset() { clear(b.states) }
