package agent

import (
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

// podLog knows which pods run and how many ran a moment ago.
type podLog struct {
	keys []reserve.PodKey // sorted, unique
	// history holds the counts since one settling time ago, oldest first; the
	// first entry also stands for all time before it.
	history []PodCount
}

// set replaces the pods and reports whether they changed.
func (l *podLog) set(at time.Time, keys []reserve.PodKey) bool {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	if slices.Equal(sorted, l.keys) && l.history != nil {
		return false
	}
	l.keys = sorted
	l.history = append(l.history, PodCount{at, len(sorted)})
	return true
}

// measured returns the count at the given time and forgets what came before.
func (l *podLog) measured(at time.Time) int {
	i := 0
	for i+1 < len(l.history) && !l.history[i+1].At.After(at) {
		i++
	}
	l.history = slices.Delete(l.history, 0, i)
	if len(l.history) == 0 {
		return 0
	}
	return l.history[0].Count
}

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
