package replay

import (
	"time"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// window is the part of a recording from one bound to another; zero bounds are
// none.
type window struct {
	From, To bound
	start    time.Time // of the recording
}

// bound is a moment, or a span from the recording's start. The zero value is none.
type bound struct {
	at    time.Time
	after time.Duration
	set   bool
}

// ParseBound reads a moment (2025-06-01T12:00:00Z) or a span (90s); an empty text is
// no bound. The error is a *field.Error.
func ParseBound(text string) (bound, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return bound{after: d, set: true}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && text != "" {
		return bound{}, report.Refuse("bound", text, "a span (90s) or a moment (2025-06-01T12:00:00Z)")
	}
	return bound{at: at, set: text != ""}, nil
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
	if w.From.set && at.Before(w.From.moment(w.start)) {
		return false
	}
	return !w.To.set || !at.After(w.To.moment(w.start))
}
