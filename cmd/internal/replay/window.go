package replay

import (
	"fmt"
	"time"
)

// window is the part of a recording that --from and --to choose.
type window struct {
	from, to bound
	start    time.Time // of the recording
}

// bound is a moment, or a span from the recording's start; zero is none.
type bound struct {
	at    time.Time
	after time.Duration
	set   bool
}

// parseBound reads a moment (2025-06-01T12:00:00Z) or a span (90s).
func parseBound(text string) (bound, error) {
	if text == "" {
		return bound{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return bound{after: d, set: true}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return bound{}, fmt.Errorf("%q is neither a span (90s) nor a moment (2025-06-01T12:00:00Z)", text)
	}
	return bound{at: at, set: true}, nil
}

func (b bound) moment(start time.Time) time.Time {
	if b.at.IsZero() {
		return start.Add(b.after)
	}
	return b.at
}

// begin takes the time of the recording's first record that has one.
func (w *window) begin(at time.Time) {
	if w.start.IsZero() {
		w.start = at
	}
}

func (w *window) holds(at time.Time) bool {
	if w.from.set && at.Before(w.from.moment(w.start)) {
		return false
	}
	return !w.to.set || !at.After(w.to.moment(w.start))
}
