package source

import (
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

var (
	// ErrRefused is that a source answers, and that its readings can't be energy of this
	// machine.
	ErrRefused = errors.New("its readings are refused")
	// ErrStill is that a source answers, and that no energy has been counted for some time:
	// a machine that runs takes some.
	ErrStill = errors.New("its counters do not move")
)

const (
	// stillFor is for how long a counter may stand still.
	stillFor = 10 * time.Second
	// judgedAfter and judgedBefore bound the time between two readings that are compared,
	// the latter by three periods of the source as well. Counters move in steps, which look
	// like much power in a short time; after a long one it is not known how often they
	// began anew.
	judgedAfter, judgedBefore = 10 * time.Millisecond, 5 * time.Second
)

// judge reports whether the readings of a source can be energy of a machine.
type judge struct {
	meter *energy.Meter // nil before the first reading
	last  time.Time     // of the last reading
	moved time.Time     // when energy was counted last
}

// accept returns an error that wraps ErrRefused or ErrStill, or nil: also where nothing is
// known yet, as of the first readings.
func (j *judge) accept(readings []energy.Reading, of Source, at time.Time) error {
	if j.meter == nil {
		j.meter, _ = energy.NewMeter(energy.MeterConfig{}) // its defaults are valid
		j.moved = at
	}
	since := at.Sub(j.last)
	if since >= 0 && since < judgedAfter {
		return nil
	}
	j.last = at
	begins := since < 0 || since > max(judgedBefore, 3*of.Period())
	if begins {
		j.meter.Rebase()
	}
	in, err := j.meter.Add(readings)
	var malformed *energy.FieldError
	switch {
	case errors.Is(err, energy.ErrGap): // whoever knows how much the zones take can count
		j.moved = at
	case errors.As(err, &malformed), !begins && (in.Partial || in.To.IsZero()):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case begins:
	case in.Joules > 0 || !of.Quality().IsInstrument():
		j.moved = at
	}
	if still := at.Sub(j.moved); !begins && still >= stillFor {
		return fmt.Errorf("%w: for %v", ErrStill, still.Round(time.Second))
	}
	return nil
}
