package node_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/node"
)

// Ten ticks cover all phases of their period, are between 0.8 and 1.2 periods apart, and average one
// period.
func TestTicksComeAtAllPhases(t *testing.T) {
	const period = 100 * time.Millisecond
	p := node.Schedule{Period: period}
	now := time.Duration(0)
	var seen []time.Duration
	for i := range 100 {
		after := p.Next(now)
		if after < period*8/10 || after > period*12/10 {
			t.Fatalf("tick %d comes after %v", i, after)
		}
		now += after
		seen = append(seen, now%period)
		if len(seen) < 10 {
			continue
		}
		phases := slices.Sorted(slices.Values(seen[i-9:]))
		for j, phase := range phases {
			if want := time.Duration(j) * period / 10; phase != want {
				t.Fatalf("ticks to %d: phases %v", i, phases)
			}
		}
	}
	if now < 100*period || now > 101*period {
		t.Errorf("100 ticks take %v", now)
	}
}

// A late caller skips the missed ticks and keeps the phases.
func TestLateTicksAreLost(t *testing.T) {
	const period = 100 * time.Millisecond
	punctual, late := node.Schedule{Period: period}, node.Schedule{Period: period}
	due := map[time.Duration]bool{}
	for now := time.Duration(0); now < 20*period; {
		now += punctual.Next(now)
		due[now] = true
	}
	for _, now := range []time.Duration{0, 3*period + period/2, 4 * period, 11 * period, 11*period + 1} {
		after := late.Next(now)
		if after <= 0 || after > 2*period {
			t.Errorf("at %v the next is after %v", now, after)
		}
		if !due[now+after] {
			t.Errorf("at %v the next is at %v, which is no tick", now, now+after)
		}
	}
}

// A tick that is due now is not the next one.
func TestNextIsLater(t *testing.T) {
	const period = 100 * time.Millisecond
	for n := range 20 {
		s := node.Schedule{Period: period}
		if after := s.Next(time.Duration(n) * period); after <= 0 {
			t.Errorf("at %d periods the next is after %v", n, after)
		}
	}
}
