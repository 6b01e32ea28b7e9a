package pronto

import "math"

// Defaults and bounds of a DetectorConfig.
const (
	// DefaultLag is a second of samples at 10 Hz, the rate of the thesis (§4.2).
	DefaultLag = 10
	// defaultThreshold and defaultInfluence are those at which a Gaussian noise is
	// flagged once in some seventy samples of a window of ten, whose own deviation
	// is uncertain, and at which a level that lasts is taken for one within a few
	// samples.
	defaultThreshold = 3.5
	defaultInfluence = .5
	// MaxLag bounds the memory of a detector.
	MaxLag = 1 << 16
	// MaxThreshold bounds how many standard deviations can be asked for.
	MaxThreshold = 1e6
	// MaxMagnitude bounds the absolute value of a sample.
	MaxMagnitude = 1e100
	// Flat is the least distance from the mean that is flagged: a signal that is
	// constant except for rounding does not reach it.
	Flat = 1e-9
)

// DetectorConfig says what a peak is. The zero value is the documented default.
type DetectorConfig struct {
	// Lag is w, the number of values that a value is held against, in [2, MaxLag];
	// 0 means DefaultLag.
	Lag int
	// Threshold is α, how many of their standard deviations it is away from their
	// mean, in (0, MaxThreshold]; 0 means 3.5.
	Threshold float64
	// Influence is how much of a flagged value enters the window, the rest being
	// the value before, in [0, 1]: at 0 peaks leave no trace, and a new level is a
	// peak for ever; nil means .5.
	Influence *float64
}

// validate returns a *field.Error for the first field that is out of range.
func (c DetectorConfig) validate() error {
	if c.Lag != 0 {
		if err := checkRange("Lag", float64(c.Lag), 2, MaxLag); err != nil {
			return err
		}
	}
	if c.Threshold != 0 {
		if err := checkRange("Threshold", c.Threshold, math.SmallestNonzeroFloat64, MaxThreshold); err != nil {
			return err
		}
	}
	if c.Influence != nil {
		return checkRange("Influence", *c.Influence, 0, 1)
	}
	return nil
}

func (c DetectorConfig) lag() int {
	if c.Lag == 0 {
		return DefaultLag
	}
	return c.Lag
}

// detector finds peaks in a stream of values by a smoothed z-score: a value is
// flagged if it is further than Threshold standard deviations from the mean of
// the Lag values before it, of which flagged ones count by their Influence only.
// The first Lag values are never flagged.
//
// A detector is for one goroutine.
type detector struct {
	window
	threshold, influence float64
}

// newDetector returns a detector that has seen nothing, of a valid configuration.
func newDetector(c DetectorConfig) detector {
	d := detector{window: newWindow(c.lag()), threshold: c.Threshold, influence: defaultInfluence}
	if d.threshold == 0 {
		d.threshold = defaultThreshold
	}
	if c.Influence != nil {
		d.influence = *c.Influence
	}
	return d
}

// step takes the next value, which is valid, and returns 1 if it is a peak above the window before
// it, −1 if it is one below, and 0 otherwise.
func (d *detector) step(v float64) (flag int8) {
	if d.full {
		m := d.moments()
		if far := v - m.mean; math.Abs(far) > max(d.threshold*m.deviation(), Flat) {
			flag = 1
			if far < 0 {
				flag = -1
			}
			v = d.influence*v + (1-d.influence)*d.last()
		}
	}
	d.push(v)
	return flag
}
