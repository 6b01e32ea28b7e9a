package pronto

import "github.com/spazio-scheduler/spazio/field"

// NewDetector returns a detector that has seen nothing. The error is that of
// [DetectorConfig.Validate].
func NewDetector(c DetectorConfig) (*detector, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	d := newDetector(c)
	return &d, nil
}

// Step takes the next value and returns 1 if it is a peak above the window before
// it, −1 if it is one below, and 0 otherwise. A value that is not finite or beyond
// MaxMagnitude is a *field.Error and changes nothing.
func (d *detector) Step(v float64) (flag int8, err error) {
	if err := sampleError(v); err != nil {
		return 0, &field.Error{Package: "pronto", Field: "v", Value: v, Err: err}
	}
	return d.step(v), nil
}

// Window returns how many values the window holds, at most Lag, their mean and
// their standard deviation, divided by their number. Flagged values are in it as
// their influence left them.
func (d *detector) Window() (n int, mean, deviation float64) {
	m := d.moments()
	return d.len(), m.mean, m.deviation()
}
