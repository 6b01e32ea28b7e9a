package agent_test

import (
	"testing"

	"github.com/spazio-scheduler/spazio/agent"
)

// mixedPods starts up to six pods, of which every other takes .12 of the memory and the rest none, and
// returns the last report.
func mixedPods(t *testing.T, c agent.Config) (agent.Report, agent.Why) {
	t.Helper()
	n := newNode(t, c)
	n.samples(20, .02, .05)
	memory := .05
	for pods := 1; pods <= 12; pods++ {
		memory += .12 * float64(pods%2)
		n.p.Churn(n.at)
		n.pods(pods)
		n.samples(20, .02+.01*float64(pods), memory)
	}
	n.samples(20, .14, memory)
	w, _ := n.p.Why()
	return n.last(), w
}

// TestMixedPodsLeaveRoomForALargeOne: at .77 of the memory, where the mean pod takes .06, three mean
// pods or one and a half large ones fit. Caution about the cost of the twelve running pods may take
// that room, but no more than a pod's.
func TestMixedPodsLeaveRoomForALargeOne(t *testing.T) {
	r, w := mixedPods(t, config())
	if r.Limiting != agent.Memory || r.Flags.CostUnknown || !near(r.Channels[1].Cost, .06, .02) {
		t.Fatalf("%+v", r)
	}
	if r.Avail < -1 || r.Avail > 2 {
		t.Errorf("got room for %.2f pods of .06 ± .06 in .23, want at most two", r.Avail)
	}
	if w.Limiting != agent.Memory || w.Mode != "model" || w.Channels[1].Spread <= 0 {
		t.Errorf("the explanation lacks the spread: %+v", w)
	}
	alike := config()
	alike.Homogeneous = true
	if s, _ := mixedPods(t, alike); s.Avail < r.Avail+.5 {
		t.Errorf("got room for %.2f pods if they are assumed alike, %.2f otherwise", s.Avail, r.Avail)
	}
}

// TestLightPods: pods that take almost no memory do not make the cost unknown, on nodes whose memory
// limits the first guess; a node without any pod does.
func TestLightPods(t *testing.T) {
	for _, cores := range []int{2, 4, 16, 64} {
		for _, batches := range []int{0, 16} {
			c := config()
			c.Cores, c.NoCoreSlots = float64(cores), true
			n := newNode(t, c)
			n.samples(50, .02, .6)
			for range batches {
				for _, count := range []int{cores / 2, 0} {
					n.p.Churn(n.at)
					n.pods(count)
					n.samples(25, .02+.1*float64(count)/c.Cores, .6)
				}
			}
			r := n.last()
			if r.Limiting != agent.Memory || r.Flags.CostUnknown != (batches == 0) {
				t.Errorf("%v cores after %d batches: limited by %s, cost unknown %v; %+v", cores, batches, r.Limiting, r.Flags.CostUnknown, r.Channels)
			}
		}
	}
}

// TestReserve keeps a share of a channel free: the channel is full at half of the CPU if the other half
// is reserved.
func TestReserve(t *testing.T) {
	c := config()
	c.Channels[0].Reserve = .5
	n := newNode(t, c)
	n.samples(20, .2, .1)
	r := n.last()
	if !near(r.Avail, 1.2, .05) || r.Saturated { // (1 − .5 − .2)/.25
		t.Errorf("offers %.2f pods, saturated %v; want 1.2", r.Avail, r.Saturated)
	}
	w, _ := n.p.Why()
	if c := w.Channels[0]; c.Reserve != .5 {
		t.Errorf("the explanation lacks the reserve: %+v", c)
	}
	n.samples(20, .49, .1)
	if r := n.last(); r.Avail > 0 || !r.Saturated {
		t.Errorf("at half of the CPU: got room for %.2f pods, saturated %v", r.Avail, r.Saturated)
	}
}
