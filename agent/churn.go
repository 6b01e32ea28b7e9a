package agent

import "time"

// churnWindow is open from the first container event until hold after the last,
// but at most cap long.
type churnWindow struct {
	first, last time.Time
}

func (w *churnWindow) event(at time.Time, hold time.Duration) {
	if w.first.IsZero() || at.Sub(w.last) >= hold {
		w.first = at
	}
	w.last = at
}

func (w *churnWindow) open(at time.Time, hold, limit time.Duration) bool {
	return !w.first.IsZero() && at.Sub(w.last) < hold && at.Sub(w.first) < limit
}

// recent reports whether the last event is less than hold ago, however long ago the
// first.
func (w *churnWindow) recent(at time.Time, hold time.Duration) bool {
	return !w.first.IsZero() && at.Sub(w.last) < hold
}
