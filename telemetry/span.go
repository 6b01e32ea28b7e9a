package telemetry

import "time"

// span is the time between two readings of a channel's counters.
type span struct {
	longest time.Duration
	at      time.Time
	primed  bool
}

// next takes at as the base of the next reading, whatever it returns: the time
// since the base before, ErrPriming, ErrNoInterval or ErrLongInterval.
func (s *span) next(at time.Time) (time.Duration, error) {
	since := at.Sub(s.at)
	primed := s.primed
	s.at, s.primed = at, true
	switch {
	case !primed:
		return 0, ErrPriming
	case since <= 0:
		return 0, ErrNoInterval
	case since > s.longest:
		return 0, ErrLongInterval
	}
	return since, nil
}

// lateness is by how much a file may be read after the time of its sample: one period
// of a CPU limit, for which the reader may be held up.
const lateness = 100 * time.Millisecond

// mostIn is the wall time in seconds by which a counter can have grown between two
// readings so many seconds apart. One that grew by more has leapt.
func mostIn(seconds float64) float64 { return seconds + lateness.Seconds() }
