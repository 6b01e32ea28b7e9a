package controller

import (
	"testing"
	"time"
)

// The earliest of several times counts, in any order; zero is none.
func TestAlarm(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		wakes []time.Duration // -1 is zero
		want  time.Duration
	}{
		{nil, 0},
		{[]time.Duration{-1}, 0},
		{[]time.Duration{3, 2, 5}, 2},
		{[]time.Duration{2, -1, 3}, 2},
	} {
		var a alarm
		for _, d := range test.wakes {
			at := now.Add(d * time.Second)
			if d < 0 {
				at = time.Time{}
			}
			a.wake(at)
		}
		if got, err := a.result(nil, now); err != nil || got.RequeueAfter != test.want*time.Second {
			t.Errorf("%v: %v, %v, want %d s", test.wakes, got.RequeueAfter, err, test.want)
		}
	}
}
