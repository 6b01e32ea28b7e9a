package loop

import (
	"time"
)

// A period is missed when the rate falls below lostShare of what was asked for,
// and held again from heldShare on: one late sample in twenty is a machine's
// everyday, one in ten is a block of the model that comes late each second.
const (
	lostShare = .9
	heldShare = .95
)

// Span is how samples kept their period for a while.
type Span struct {
	// Over is how long the span was, Rate the samples a second in it and Want
	// those there should have been.
	Over       time.Duration
	Rate, Want float64
	// Held is false from the first span that was too slow to the first that is
	// not; Changed reports that it differs from the span before.
	Held, Changed bool
}

// Watchdog judges, by the times of samples, whether they keep their period. It
// is not safe for concurrent use.
type Watchdog struct {
	period, over time.Duration
	since        time.Time // the span's start; zero before the first sample
	samples      int
	lost         bool
}

// NewWatchdog returns a watchdog that judges spans of the given length, both
// positive.
func NewWatchdog(period, over time.Duration) *Watchdog {
	return &Watchdog{period: period, over: over}
}

// Tick takes the time of a sample. At the end of a span it returns how that was.
func (w *Watchdog) Tick(at time.Time) (p Span, ended bool) {
	if w.since.IsZero() {
		w.since = at
		return Span{}, false
	}
	w.samples++
	// A span ends with the tick nearest to its length.
	over := at.Sub(w.since)
	if over < w.over-w.period/2 {
		return Span{}, false
	}
	p = Span{Over: over, Want: 1 / w.period.Seconds(), Rate: float64(w.samples) / over.Seconds()}
	share := lostShare
	if w.lost {
		share = heldShare
	}
	p.Held = p.Rate >= share*p.Want
	p.Changed = p.Held == w.lost
	w.lost, w.since, w.samples = !p.Held, at, 0
	return p, true
}

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
