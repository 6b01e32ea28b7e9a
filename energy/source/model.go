package source

import (
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

// ModelConfig is a machine's nameplate.
type ModelConfig struct {
	// Idle and Max are its power without load and at full, in watts.
	Idle, Max float64
	// Utilisation returns the busy share of the machine's cores since it was last
	// asked, in [0, 1].
	Utilisation func() (float64, error)
}

// validate returns a *field.Error for the first field that is out of range.
func (c ModelConfig) validate() error {
	switch {
	case !(c.Max > 0 && c.Max <= energy.MaxWatts):
		return invalid("Max", c.Max, "a power in (0, 1e6]")
	case !(c.Idle >= 0 && c.Idle <= c.Max):
		return invalid("Idle", c.Idle, "in [0, Max]")
	case c.Utilisation == nil:
		return invalid("Utilisation", nil, "given")
	}
	return nil
}

// model shows a power that nothing has measured: linear in utilisation.
type model struct {
	about
	config ModelConfig
	joules float64
	last   time.Time
}

// newModel returns the model of c. The error is a *field.Error.
func newModel(c ModelConfig) (*model, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &model{about: about{"model", energy.Modelled, 10 * time.Millisecond}, config: c}, nil
}

// Close implements Source.
func (m *model) Close() error { return nil }

// ReadTo implements Source. The zone, "model", is a counter: utilisation is a mean over
// the time since the last reading, and so is the power.
func (m *model) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst = dst[:0]
	u, err := m.config.Utilisation()
	if err != nil {
		return dst, fmt.Errorf("source: utilisation: %w", err)
	}
	if !(u >= 0 && u <= 1) {
		return dst, &field.Error{Package: "source", Field: "Utilisation", Value: u, Err: errMalformed}
	}
	if seconds := at.Sub(m.last).Seconds(); !m.last.IsZero() && seconds > 0 {
		m.joules += (m.config.Idle + u*(m.config.Max-m.config.Idle)) * seconds
	}
	m.last = at
	return append(dst, energy.Reading{Zone: "model", Counter: uint64(math.Round(m.joules * 1e6)), MaxWatts: energy.MaxWatts, At: at}), nil
}
