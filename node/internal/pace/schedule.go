package pace

import "time"

// phases are where in their periods ten successive ticks come, in shares of one.
// What is read at a tick must not be in step with what it measures: a CPU limit
// stops and releases its tasks every tenth of a second, and a process that wakes
// up ten times a second is common, too; in step with the ticks it would be seen
// always or never. So ten ticks, and to within a fifth of the period each five of
// them, come at all phases of whatever has the ticks' period. No two are further
// apart than 1.2 periods, nor closer than .8.
var phases = [...]float64{0, .2, .4, .6, .8, .9, .7, .5, .3, .1}

// schedule determines when samples are due, counted from the start: once a period in the
// mean, at phases that vary. Period must be positive. It is not safe for
// concurrent use.
type schedule struct {
	Period time.Duration
	n      int
}

// Next returns the time from elapsed until the next tick. Ticks that are due
// before it are lost.
func (s *schedule) Next(elapsed time.Duration) time.Duration {
	s.n = max(s.n+1, int(elapsed/s.Period))
	for s.due() <= elapsed {
		s.n++
	}
	return s.due() - elapsed
}

func (s *schedule) due() time.Duration {
	phase := phases[s.n%len(phases)]
	return time.Duration(s.n)*s.Period + time.Duration(phase*float64(s.Period))
}
