package node_test

import (
	"errors"
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// still returns a node with next to no daemons.
func still(t testing.TB, cores int) *node.Model {
	t.Helper()
	m, err := node.New(node.Params{Cores: cores, Background: 1e-9, StartWork: 1, StopWork: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func place(t testing.TB, m *node.Model, p node.Pod) {
	t.Helper()
	if err := m.Bind(0, p); err != nil {
		t.Fatal(err)
	}
}

// A thread that never sleeps, limited to a quarter of a core, runs for the first 25 ms of
// each tenth of a second.
func TestALimitHoldsUp(t *testing.T) {
	m := still(t, 4)
	place(t, m, node.Pod{ID: 1, Work: 1, Limit: .25})
	place(t, m, node.Pod{ID: 2, Work: 1})
	m.AdvanceTo(nil, 2.01)
	u, ok := m.Usage(1)
	if !ok || math.Abs(u.CPU-.51) > 1e-6 || u.Periods != 21 || u.ThrottledPeriods != 20 || math.Abs(u.Throttled-1.5) > 1e-6 || math.Abs(u.Stalled-1.5) > 1e-6 {
		t.Errorf("%+v of two seconds and ten ms", u)
	}
	if done, _ := m.Progress(1); math.Abs(done-.51) > 1e-6 {
		t.Errorf("%v core-seconds done", done)
	}
	if _, running := m.Progress(2); running {
		t.Error("the pod without a limit still runs")
	}
	transitions := m.AdvanceTo(nil, 10)
	last := transitions[0]
	if last.Pod != 1 || last.Phase != node.Succeeded || math.Abs(last.At-3.925) > 1e-5 {
		t.Errorf("%+v, want the pod to end with the fortieth period's share", last)
	}
	if u, _ := m.Usage(1); math.Abs(u.CPU-1) > 1e-6 || u.Periods != 40 || u.ThrottledPeriods != 39 {
		t.Errorf("at its end %+v", u)
	}
}

// Four threads use a limit of two cores in half of each period.
func TestALimitIsOfAllThreads(t *testing.T) {
	m := still(t, 4)
	place(t, m, node.Pod{ID: 1, Work: 8, Cores: 4, Limit: 2})
	m.AdvanceTo(nil, 1)
	if u, _ := m.Usage(1); math.Abs(u.CPU-2) > 1e-6 || math.Abs(u.Throttled-.5) > 1e-6 {
		t.Errorf("%+v", u)
	}
	if b := m.Totals().Busy; math.Abs(b-2) > 1e-3 {
		t.Errorf("busy %v", b)
	}
}

// A pod that asks for less than its limit is never throttled, nor is one whose limit is all cores;
// their use is counted all the same.
func TestALimitAboveTheUse(t *testing.T) {
	m := still(t, 2)
	place(t, m, node.Pod{ID: 1, Work: 10, Cores: .3, Limit: .31})
	place(t, m, node.Pod{ID: 2, Server: node.Server{Rate: 20, Work: .01}, Limit: 2})
	m.AdvanceTo(nil, 20)
	for id, want := range map[node.PodID]float64{1: 6, 2: 4} {
		if u, _ := m.Usage(id); u.ThrottledPeriods != 0 || u.Throttled != 0 || math.Abs(u.CPU-want) > .25*want {
			t.Errorf("%d: %+v", id, u)
		}
	}
	// A period counts if the server had a request in it: of 20 a second 86 %.
	if u, _ := m.Usage(2); u.Periods < 150 || u.Periods > 195 {
		t.Errorf("%d of 200 periods", u.Periods)
	}
}

// A server's requests wait for the next period.
func TestALimitedServerIsSlower(t *testing.T) {
	mean := func(limit float64) (mean float64, u node.Usage) {
		m := still(t, 4)
		place(t, m, node.Pod{ID: 1, Server: node.Server{Rate: 20, Work: .01}, Limit: limit})
		m.AdvanceTo(nil, 100)
		responses := m.Responses(nil)
		for _, r := range responses {
			mean += r / float64(len(responses))
		}
		u, _ = m.Usage(1)
		return mean, u
	}
	free, _ := mean(4)
	tight, u := mean(.3)
	if free > .011 || tight < 2*free || u.ThrottledPeriods == 0 || u.ThrottledPeriods >= u.Periods {
		t.Errorf("%v s, limited %v s, %+v", free, tight, u)
	}
}

// The result does not depend on how a span is cut into steps, or on queries for the next change.
func TestALimitInSteps(t *testing.T) {
	run := func(step float64, ask bool) node.Usage {
		m := still(t, 2)
		place(t, m, node.Pod{ID: 1, Work: 100, Cores: 2, Limit: .7})
		place(t, m, node.Pod{ID: 2, Server: node.Server{Rate: 30, Work: .02}, Limit: .5})
		place(t, m, node.Pod{ID: 3, Work: 100})
		for now := step; now < 10; now += step {
			m.AdvanceTo(nil, now)
			if ask {
				m.NextChange()
			}
		}
		m.AdvanceTo(nil, 10)
		u, _ := m.Usage(1)
		return u
	}
	want := run(10, false)
	for _, got := range []node.Usage{run(.037, false), run(.1, true)} {
		if math.Abs(got.CPU-want.CPU) > 1e-4 || got.Periods != want.Periods || math.Abs(got.Throttled-want.Throttled) > 1e-4 {
			t.Errorf("%+v, in one step %+v", got, want)
		}
	}
}

// The next change is never later than an event, although others are faster while a limit throttles
// a pod.
func TestNextChangeWithLimits(t *testing.T) {
	m := still(t, 1)
	place(t, m, node.Pod{ID: 1, Work: 1, Limit: .2})
	place(t, m, node.Pod{ID: 2, Work: .5})
	m.AdvanceTo(nil, .001)
	for range 1000 {
		next, ok := m.NextChange()
		if !ok {
			break
		}
		if before := m.AdvanceTo(nil, max(next-1e-6, m.Now())); len(before) > 0 {
			t.Fatalf("%+v before %v", before, next)
		}
		m.AdvanceTo(nil, next)
	}
	if _, there := m.Progress(1); there {
		t.Error("it never ends")
	}
}

func TestResize(t *testing.T) {
	m := still(t, 4)
	place(t, m, node.Pod{ID: 1, Work: 100, Limit: .2})
	place(t, m, node.Pod{ID: 2, Work: 100})
	m.AdvanceTo(nil, 1)
	if err := m.Resize(1, .6); err != nil {
		t.Fatal(err)
	}
	m.AdvanceTo(nil, 2)
	if u, _ := m.Usage(1); math.Abs(u.CPU-.8) > .041 {
		t.Errorf("%+v of a second at .2 and one at .6", u)
	}
	for _, err := range []error{m.Resize(2, 1), m.Resize(3, 1), m.Resize(1, 0), m.Resize(1, -1), m.Resize(1, math.NaN()), m.Resize(1, math.Inf(1)), m.Bind(0, node.Pod{ID: 4, Limit: -1})} {
		if !errors.Is(err, node.ErrBadPod) {
			t.Error(err)
		}
	}
}

// A pod that is killed while it is throttled leaves nothing.
func TestALimitedPodIsKilled(t *testing.T) {
	m := still(t, 2)
	place(t, m, node.Pod{ID: 1, Work: 100, Limit: .1})
	m.AdvanceTo(nil, .05)
	if !m.Kill(1) {
		t.Fatal("it is not there")
	}
	place(t, m, node.Pod{ID: 2, Work: 100})
	place(t, m, node.Pod{ID: 3, Work: 1})
	m.AdvanceTo(nil, 1)
	if done, _ := m.Progress(2); math.Abs(done-.95) > 1e-3 {
		t.Errorf("%v done by the next", done)
	}
}
