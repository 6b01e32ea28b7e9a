package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/node"
)

// TestWatchdogJudgesSpans: the rate is lost below nine tenths and held again from 95 % on.
func TestWatchdogJudgesSpans(t *testing.T) {
	at := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	w := node.NewWatchdog(100*time.Millisecond, 10*time.Second)
	w.Tick(at)
	var got strings.Builder
	for _, interval := range []time.Duration{100, 110, 115, 106, 100} {
		for ended := false; !ended; {
			var p node.Pace
			at = at.Add(interval * time.Millisecond)
			if p, ended = w.Tick(at); ended {
				fmt.Fprintf(&got, "%.1f Hz over %v: held %v, changed %v\n", p.Rate, p.Over, p.Held, p.Changed)
			}
		}
	}
	want := `10.0 Hz over 10s: held true, changed false
9.1 Hz over 10.01s: held true, changed false
8.7 Hz over 10.005s: held false, changed true
9.4 Hz over 9.964s: held false, changed false
10.0 Hz over 10s: held true, changed true
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

// TestWatchdogAfterAStall: a complete stall of samples is reported when they resume.
func TestWatchdogAfterAStall(t *testing.T) {
	at := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	w := node.NewWatchdog(100*time.Millisecond, 10*time.Second)
	w.Tick(at)
	p, ended := w.Tick(at.Add(time.Minute))
	if !ended || p.Held || !p.Changed || p.Over != time.Minute {
		t.Errorf("after a minute without samples: %+v, %v", p, ended)
	}
}
