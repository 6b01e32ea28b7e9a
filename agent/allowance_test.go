package agent_test

import (
	"math"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/reserve"
)

// relay starts a pod every gap tenths of a second; each runs for life tenths and was bound startup
// tenths before.
func (n *node) relay(ticks, gap, startup, life int, y ...float64) {
	n.t.Helper()
	from := len(n.podsNow) // these run for good
	base := n.podsNow
	key := func(i int) reserve.PodKey { return reserve.PodKey(1000 + i) }
	for tick := range ticks {
		if tick%gap == 0 {
			n.p.Bound(n.at, agent.Bind{Pod: key(tick / gap), InitsKnown: true})
		}
		running := append([]reserve.PodKey(nil), base[:from]...)
		for i := 0; i*gap <= tick; i++ {
			if began := i*gap + startup; began <= tick && tick < began+life {
				running = append(running, key(i))
			}
		}
		n.keep(n.p.Pods(n.at, agent.RunningPods(running...)))
		n.samples(1, y...)
	}
}

// TestAllowance checks the allowance for several rates of pods.
func TestAllowance(t *testing.T) {
	off := config()
	off.Allowance = capacity.AllowanceOptions{MostPerSlot: capacity.NoAllowance}
	fixed := off
	fixed.Avail.Allowance = 1.5
	tests := []struct {
		name               string
		config             agent.Config
		gap, startup, life int
		cpu, memory        float64
		low, high          float64 // bounds of the allowance
		saturated          bool
	}{
		{"pods of a second, 1.5 s to start", config(), 5, 15, 10, .3, .1, 5, 7, false},
		{"pods of a second, .3 s to start", config(), 5, 3, 10, .3, .1, 1, 1.4, false},
		{"pods of ten seconds", config(), 25, 15, 100, .3, .1, 0, 0, false},
		{"short pods on a CPU that was always full", config(), 2, 15, 2, 1, .1, 4, 4, false},
		{"longer pods on a full CPU", config(), 10, 5, 30, 1, .1, 0, 0, true},
		{"short pods on full memory", config(), 2, 15, 2, .3, 1, 0, 0, true},
		{"short pods, memory all but full", config(), 2, 15, 2, .3, .95, 0, 0, false},
		{"off", off, 5, 15, 10, .3, .1, 0, 0, false},
		{"off, full CPU", off, 2, 15, 2, 1, .1, 0, 0, true},
		{"a constant", fixed, 5, 15, 10, .3, .1, 1.5, 1.5, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, test.config)
			n.relay(600, test.gap, test.startup, test.life, test.cpu, test.memory)
			n.samples(10, test.cpu, test.memory) // a block, so that the report is new
			r := n.last()
			if !(r.Allowance >= test.low && r.Allowance <= test.high) || r.Saturated != test.saturated {
				w, _ := n.p.Why()
				t.Errorf("allowance %.2f, want %v to %v; saturated %v\n%+v", r.Allowance, test.low, test.high, r.Saturated, w)
			}
		})
	}
}

// Until a pod ends its run time is unknown, and pods that never end do not count towards it.
func TestAllowanceOfUnknownPods(t *testing.T) {
	n := newNode(t, config())
	n.pods(4)
	n.samples(100, .5, .1)
	if a := n.last().Allowance; a != 0 {
		t.Errorf("no pod has ended: got allowance %v", a)
	}
	if w, _ := n.p.Why(); w.Pace.Ends != 0 || w.Pace.Run != 0 {
		t.Errorf("got explanation %+v", w.Pace)
	}
}

// A pod that never starts, or a repeated notice, has no effect.
func TestBound(t *testing.T) {
	n := newNode(t, config())
	n.samples(10, .1, .1)
	for i := range 3000 {
		n.p.Bound(n.at, agent.Bind{Pod: reserve.PodKey(i + 10)})
	}
	if way := len(n.p.State().Pace.Way); way > 1024 {
		t.Errorf("got %d pending pods", way)
	}
	n.at = n.at.Add(2 * time.Minute)
	n.samples(1, .1, .1)
	n.list(1)
	if s := n.p.State().Pace; len(s.Way) != 0 || s.Startup != 0 {
		t.Errorf("after two minutes: got %+v", s)
	}
	n.p.Bound(n.at, agent.Bind{Pod: 1}) // already running
	n.p.Bound(n.at, agent.Bind{Pod: 2, InitsKnown: true})
	n.p.Bound(n.at.Add(time.Second), agent.Bind{Pod: 2, InitsKnown: true})
	if s := n.p.State(); len(s.Pace.Way) != 1 {
		t.Errorf("awaited: %+v", s.Pace.Way)
	}
	n.at = n.at.Add(3 * time.Second)
	n.list(1, 2)
	if s := n.p.State().Pace; len(s.Way) != 0 || s.Startup != 1.2 {
		t.Errorf("start of 3 s after the default of 1 s: got %+v", s)
	}
}

// Pods of one core each start on a node of 16 cores whose usage is one half when all cores are busy.
// Once their cost is known the node has room for as many as cores plus half a √cores, and not for as
// many as usage would allow; pods of half a core are not bound by this, nor is a node configured to use
// usage alone.
func TestSlotsOfOneCorePods(t *testing.T) {
	const cores = 16
	open := func(c agent.Config) agent.Config { c.NoCoreSlots = true; return c }
	same := func(c agent.Config) agent.Config { return c }
	for _, tt := range []struct {
		name      string
		with      func(agent.Config) agent.Config
		core      float64 // cores that a pod takes
		low, high float64 // pods on the node in all
	}{
		{"a core each", same, 1, cores + 2, cores + 2},
		{"nearly a core", same, .9, cores + 2, cores + 2},
		{"half a core", same, .5, 1.4 * cores, 4 * cores},
		{"usage alone", open, 1, 1.4 * cores, 2 * cores},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := config()
			c.Cores = cores
			n := newNode(t, tt.with(c))
			n.samples(100, 0, .1)
			for pods := range cores {
				n.pods(pods + 1)
				n.samples(30, float64(pods+1)*tt.core/(2*cores), .1)
			}
			r := n.last()
			if got := r.Avail + cores; !(got >= tt.low && got <= tt.high) {
				t.Errorf("%v pods, want %v to %v", got, tt.low, tt.high)
			}
		})
	}
}

// TestIdlePodsTakeNoSlots: daemons that ran before the agent take none of the slots of one-core pods.
// With one core busy there is room for one pod on each other core, and one waits.
func TestIdlePodsTakeNoSlots(t *testing.T) {
	for _, cores := range []int{2, 4, 16, 64} {
		for _, daemons := range []int{0, 1, 5, 12} {
			c := config()
			c.Cores = float64(cores)
			n := newNode(t, c)
			n.list(seq(daemons)...)
			n.podsNow = seq(daemons)
			n.samples(100, .001, .1)
			for round := range 3 { // pods start one by one, and end
				for busy := range cores {
					n.pods(daemons + busy + 1)
					n.samples(30, float64(busy+1)/float64(2*cores), .1)
				}
				n.pods(daemons + 1)
				n.samples(30, 1/float64(2*cores), .1)
				places := n.last().Avail + 1
				low, high := float64(cores), float64(cores)+math.Max(1, math.Sqrt(float64(cores))/2)+1
				if !(places >= low && places <= high) {
					t.Errorf("%d cores, %d daemons, round %d: got slots for %.2f pods, want %v to %v", cores, daemons, round, places, low, high)
				}
			}
		}
	}
}
