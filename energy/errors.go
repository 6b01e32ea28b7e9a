package energy

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is what every field.Error wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse makes a field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "energy", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// amount refuses what is not in [0, most].
func amount(field string, v, most float64) error {
	if !(v >= 0 && v <= most) {
		return refuse(field, v, fmt.Sprintf("in [0, %g]", most))
	}
	return nil
}

// Why a zone's reading made no interval.
var (
	// ErrPriming is that it is the first of its zone, or of all.
	ErrPriming = errors.New("no reading before")
	// errNoInterval is that no time has passed since the last.
	errNoInterval = errors.New("no time since the last reading")
	// ErrBackwards is that a counter that does not wrap has fallen.
	ErrBackwards = errors.New("the counter ran backwards")
	// errGap is that the counter may have wrapped more than once.
	errGap = errors.New("too long since the last reading to count the wraps")
	// ErrImplausible is more power than a zone can take, which a reset looks like,
	// or a counter beyond its range.
	ErrImplausible = errors.New("more than the zone can take")
	// errMissing is that a zone read before was not read.
	errMissing = errors.New("the zone is gone")
)

// ZoneError describes why an interval lacks a zone.
type ZoneError struct {
	Zone string
	err  error
}

// Error implements error.
func (e *ZoneError) Error() string { return fmt.Sprintf("energy: zone %q: %v", e.Zone, e.err) }

// Unwrap returns the cause, one of the Err variables of this package.
func (e *ZoneError) Unwrap() error { return e.err }

// Cause returns a word for the cause, for a metric's label.
func (e *ZoneError) Cause() string {
	for _, c := range [...]struct {
		err  error
		word string
	}{
		{ErrPriming, "priming"}, {errNoInterval, "no_interval"}, {ErrBackwards, "backwards"},
		{errGap, "gap"}, {ErrImplausible, "implausible"}, {errMissing, "missing"},
	} {
		if errors.Is(e.err, c.err) {
			return c.word
		}
	}
	return "other"
}
