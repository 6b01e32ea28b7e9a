package profile

import (
	"math"
	"time"
)

// throttling is how often limits held pods up, weighted as CPU is.
type throttling struct {
	periods, throttled float64
	at                 time.Time
}

func (t *throttling) add(at time.Time, w *Window) {
	if w.Periods == 0 {
		return
	}
	weight := 1.
	if age := at.Sub(t.at); t.at.IsZero() || age > 0 {
		keep := 0.
		if !t.at.IsZero() {
			keep = math.Exp2(-age.Hours() / defaultHalfLife.Hours())
		}
		t.periods, t.throttled, t.at = t.periods*keep, t.throttled*keep, at
	} else {
		weight = math.Exp2(age.Hours() / defaultHalfLife.Hours())
	}
	t.periods += weight * float64(w.Periods)
	t.throttled += weight * float64(w.ThrottledPeriods)
}

func (t *throttling) share() float64 {
	if t.periods == 0 {
		return 0
	}
	return min(t.throttled/t.periods, 1)
}
