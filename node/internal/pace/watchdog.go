package pace

import "time"

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
