package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
)

// TestBook by hand: a pod that ran for 6 of 10 core-seconds of a package, of 60 J each, while
// the other's 5 took 70 J each; when it ran they were 10 J cheaper in all. Of 1,150 J, of them
// 200 idle, counters told 10 too many, and idle 10 too few.
func TestBook(t *testing.T) {
	start := time.Unix(1e9, 0)
	s := &site{pods: []string{"pod"}, consumers: []consumer{{socket: 0}, {socket: 0}, {socket: 1}}}
	begin := truth{at: start, pods: make([]float64, 3), cpu: make([]time.Duration, 3), loads: make([]fakerapl.Load, 2)}
	end := truth{
		at: start.Add(5 * time.Second), node: 1150, pods: []float64{350, 250, 350}, cpu: []time.Duration{6 * time.Second, 4 * time.Second, 5 * time.Second},
		loads: []fakerapl.Load{{Busy: 10, Joules: 600}, {Busy: 5, Joules: 350}},
	}
	b := &book{
		first: begin, last: begin, cores: 4, busy: 15 * time.Second, meter: 1160,
		charged: make([]float64, 1), caused: make([]float64, 1),
	}
	const joules = (1160. - 190) / 15 * 6
	b.enter(s, charge{pods: map[string]energy.Share{"pod": {Joules: joules, SD: 19.1}}, joules: 1160, idle: 190}, end)
	// A window with a hole is told to nobody.
	hole := end
	hole.at, hole.node = start.Add(10*time.Second), 2300
	hole.pods = []float64{1e6, 250, 350}
	b.enter(s, charge{broken: true, joules: 10}, hole)
	percent := func(part float64) float64 { return 100 * part / joules }
	want := row{
		Load: 100, Reached: 100 * 15. / 40, Joules: 1160, Truth: 2300, NodeError: 100 * (1 - 1160./2300), PodError: 100 * (joules/350 - 1),
		Intervals: 1, Inside: 1, SD: percent(19.1), RMS: percent(38), Ratio: 38 / 19.1,
		Causes: causes{Counters: percent(4), Idle: percent(4), Packages: percent(20), Time: percent(10)},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) })
	if d := cmp.Diff(want, newRow(100, []*book{b}), near); d != "" {
		t.Error(d)
	}
	// Of two runs errors are the worst, and parts the mean of squares.
	worse := *b
	worse.missed, worse.meter = 7*b.missed, 1150
	two := newRow(100, []*book{b, &worse})
	if math.Abs(two.RMS-2*want.RMS) > 1e-9 || math.Abs(two.SD-want.SD) > 1e-9 || two.NodeError != 50 || two.Intervals != 2 || two.Inside != 2 || two.Reached != want.Reached {
		t.Errorf("%+v", two)
	}
}
