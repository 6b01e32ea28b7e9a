package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

var (
	// errRefused is that a source answers, and that its readings can't be energy of this
	// machine.
	errRefused = errors.New("its readings are refused")
	// ErrStill is that a source answers, and that no energy has been counted for some time, by
	// none of its counters or by one of them: a machine that runs takes some, and so does each
	// of its processors.
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
	meter *energy.Meter    // nil before the first reading
	shown []energy.Reading // the last reading, none of one that was refused
	last  time.Time        // when that was
	moved time.Time        // when energy was counted last
	zones map[string]zoneMoved
}

// zoneMoved is when a zone's counter came to what it shows.
type zoneMoved struct {
	counter uint64
	at      time.Time
}

// accept returns an error that wraps errRefused, ErrStill or ErrUnchanged, or nil: also where
// nothing is known yet, as of the first readings. Counters that a machine updates seldom are
// ErrUnchanged until they move, so that what they count is divided by the time that it took.
func (j *judge) accept(readings []energy.Reading, of Source, at time.Time) error {
	if j.meter == nil {
		j.meter, _ = energy.NewMeter(energy.MeterConfig{}) // its defaults are valid
	}
	since := at.Sub(j.last)
	if since >= 0 && since < judgedAfter {
		return nil
	}
	begins := since < 0 || since > max(judgedBefore, 3*of.Period())
	stands := !begins && unmoved(j.shown, readings)
	j.last, j.shown = at, append(j.shown[:0], readings...)
	stuck := j.standing(readings, of, at, begins)
	still := at.Sub(j.moved)
	if stands && of.Quality().IsInstrument() && still < stillFor {
		return ErrUnchanged
	}
	if begins {
		j.meter.Rebase()
		j.moved = at
	}
	in, err := j.meter.Add(readings)
	switch {
	case field.By(err, "energy") != nil, !begins && (in.Partial || in.To.IsZero()):
		j.shown = j.shown[:0]
		if err == nil {
			err = fmt.Errorf("%w: all zones are parts of one that is not read", ErrNoPower)
		}
		return fmt.Errorf("%w: %w", errRefused, err)
	case begins:
	case in.Joules > 0 || !of.Quality().IsInstrument():
		j.moved = at
	}
	if still = at.Sub(j.moved); !begins && still >= stillFor {
		return fmt.Errorf("%w: for %v", ErrStill, still.Round(time.Second))
	}
	return stuck
}

// standing returns an error that wraps ErrStill and names a counter that is summed and has stood
// still for stillFor. A gauge may show 0, as that of a supply in reserve does.
func (j *judge) standing(readings []energy.Reading, of Source, at time.Time, begins bool) error {
	if !of.Quality().IsInstrument() {
		return nil
	}
	if j.zones == nil || begins {
		j.zones = map[string]zoneMoved{}
	}
	for _, r := range readings {
		if r.Gauge || r.Part {
			continue
		}
		was, known := j.zones[r.Zone]
		if !known && r.Counter == 0 && strings.HasSuffix(r.Zone, "/"+memoryZone) {
			continue // as the kernel has it, memory that counts nothing has no counter
		}
		if !known || was.counter != r.Counter {
			j.zones[r.Zone] = zoneMoved{r.Counter, at}
		} else if still := at.Sub(was.at); still >= stillFor {
			return fmt.Errorf("%w: zone %q for %v, while others do", ErrStill, r.Zone, still.Round(time.Second))
		}
	}
	return nil
}

// unmoved reports whether no zone that is summed shows energy: its counter is what it was
// before, or its gauge at 0.
func unmoved(before, now []energy.Reading) bool {
	summed := 0
	for _, r := range now {
		if r.Part {
			continue
		}
		summed++
		if !slices.ContainsFunc(before, func(b energy.Reading) bool {
			return b.Zone == r.Zone && b.Gauge == r.Gauge && b.Counter == r.Counter && (!r.Gauge || r.Watts == 0)
		}) {
			return false
		}
	}
	return summed > 0 && len(before) == len(now)
}
