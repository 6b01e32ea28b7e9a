package agent_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
)

// leap is how far pressure totals jump on some kernels: 2^32 ns.
const leap = 1 << 32

// windowOf passes readings, each at its age, and returns the window of them all.
func windowOf(t *testing.T, readings ...agent.PodReading) (agent.Window, agent.UsageDropped) {
	t.Helper()
	l := agent.NewUsageLog("n", 1)
	at := start
	for _, r := range readings {
		r.Pod = 7
		at = start.Add(r.Age)
		l.Take(at, []agent.PodReading{r})
	}
	return batch(t, l, at).Windows[0], l.Dropped()
}

// TestLeapsAreNoDemand runs jobs of one second, .3 s of it on a CPU, some of which seem to have waited
// longer than they lived: their wait is unknown, and they used .3 cores.
func TestLeapsAreNoDemand(t *testing.T) {
	for _, cores := range []float64{4, 16, 64} {
		for job := range 20 {
			r := agent.PodReading{Age: second, CPU: 300 * time.Millisecond, Stalled: second / 10, Pressure: true, Cores: cores, Memory: 1000, Ended: true}
			want := agent.Window{Pod: 7, Usage: profile.Usage{
				Age: second, Span: second, CPU: .3, Stalled: .1, Pressure: true, Memory: 1000, MemoryPeak: 1000, Ended: true,
				Demand: demandFor(.4, 1000),
			}}
			if job%5 == 0 {
				r.Stalled += leap
				want.Stalled, want.Pressure, want.Demand = 0, false, demandFor(.3, 1000)
			}
			w, dropped := windowOf(t, r)
			if d := cmp.Diff(want, w); d != "" || dropped != (agent.UsageDropped{}) {
				t.Errorf("job %d, dropped %v, window (-want +got):\n%s", job, dropped, d)
			}
		}
	}
}

func demandFor(cores float64, millis uint32) []profile.DemandTime {
	return []profile.DemandTime{{Bucket: agent.DemandBucket(cores), Millis: millis}}
}

// TestFieldsAreBoundedApart: a field that jumps, runs backwards or is unreadable is dropped alone,
// without its neighbours.
func TestFieldsAreBoundedApart(t *testing.T) {
	first := agent.PodReading{
		Age: 10 * second, CPU: 5 * second, Stalled: second, Pressure: true, Throttled: second, Periods: 100, ThrottledPeriods: 10,
		Memory: 1000, MemoryPeak: 2000, OOMKills: 3, Cores: 4,
	}
	second2 := first
	second2.Age, second2.CPU, second2.Stalled, second2.Memory, second2.OOMKills = 20*second, 11*second, 2*second, 1500, 4
	full := agent.Window{
		Pod: 7,
		Usage: profile.Usage{
			Age: 20 * second, Span: 20 * second, CPU: 11, Stalled: 2, Pressure: true, Throttled: 1, Periods: 100,
			ThrottledPeriods: 10, Memory: 1500, MemoryPeak: 2000, OOMKills: 4,
		},
	}
	for name, tc := range map[string]struct {
		change  func(r *agent.PodReading)
		want    func(w *agent.Window)
		dropped uint64
	}{
		"nothing":                  {func(*agent.PodReading) {}, func(*agent.Window) {}, 0},
		"waiting leaps":            {func(r *agent.PodReading) { r.Stalled += 3 * leap }, func(w *agent.Window) { w.Pressure, w.Stalled = false, 1 }, 0},
		"waiting runs back":        {func(r *agent.PodReading) { r.Stalled = 0 }, func(w *agent.Window) { w.Pressure, w.Stalled = false, 1 }, 0},
		"waiting ends beyond 2^63": {func(r *agent.PodReading) { r.Stalled = math.MaxInt64 }, func(w *agent.Window) { w.Pressure, w.Stalled = false, 1 }, 0},
		"no waiting":               {func(r *agent.PodReading) { r.Stalled, r.Pressure = 0, false }, func(w *agent.Window) { w.Pressure, w.Stalled = false, 1 }, 0},
		"a limit's time leaps":     {func(r *agent.PodReading) { r.Throttled += 41 * second }, func(w *agent.Window) { w.Pressure, w.Stalled = false, 1 }, 0},
		"CPU time leaps": {func(r *agent.PodReading) { r.CPU += 41 * second }, func(w *agent.Window) {
			w.Span, w.CPU, w.Stalled = 10*second, 5, 1
		}, 1},
		"a limit's periods run back": {func(r *agent.PodReading) { r.Periods = 99 }, func(w *agent.Window) { w.Pressure, w.Stalled = false, 1 }, 0},
		"a limit is lifted":          {func(r *agent.PodReading) { r.Periods, r.ThrottledPeriods, r.Throttled = 0, 0, 0 }, func(w *agent.Window) { w.Pressure, w.Stalled = false, 1 }, 0},
		"a limit's periods leap":     {func(r *agent.PodReading) { r.Periods = math.MaxUint64 }, func(w *agent.Window) { w.Pressure, w.Stalled = false, 1 }, 0},
		"throttled periods leap":     {func(r *agent.PodReading) { r.ThrottledPeriods += leap }, func(w *agent.Window) { w.Pressure, w.Stalled = false, 1 }, 0},
		"kills run back":             {func(r *agent.PodReading) { r.OOMKills = 0 }, func(w *agent.Window) { w.OOMKills = 3 }, 0},
		"CPU time of all cores":      {func(r *agent.PodReading) { r.CPU = 45 * second }, func(w *agent.Window) { w.CPU = 45 }, 0},
		"no memory": {func(r *agent.PodReading) { r.NoMemory, r.Memory, r.MemoryPeak, r.OOMKills = true, 0, 0, 0 }, func(w *agent.Window) {
			w.Memory, w.OOMKills = 1000, 3
		}, 0},
		"no CPU time": {func(r *agent.PodReading) {
			r.NoCPU, r.CPU, r.Stalled, r.Pressure, r.Throttled, r.Periods, r.ThrottledPeriods = true, 0, 0, false, 0, 0, 0
		}, func(w *agent.Window) { w.Span, w.CPU, w.Stalled, w.OOMKills = 10*second, 5, 1, 3 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, want := second2, full
			tc.change(&r)
			tc.want(&want)
			got, dropped := windowOf(t, first, r)
			got.Demand = nil
			if d := cmp.Diff(want, got); d != "" || dropped.Readings != tc.dropped || dropped.Windows != 0 {
				t.Errorf("dropped %v, window (-want +got):\n%s", dropped, d)
			}
		})
	}
}

// TestUnknownCPUTimeIsInTheNextSpan: CPU time that one reading lacks is part of the span to the next.
func TestUnknownCPUTimeIsInTheNextSpan(t *testing.T) {
	w, dropped := windowOf(t,
		agent.PodReading{Age: second, CPU: second / 2, Memory: 1000, OOMKills: 2},
		agent.PodReading{Age: 2 * second, NoCPU: true, Memory: 3000, OOMKills: 2},
		agent.PodReading{Age: 5 * second, CPU: 5 * second / 2, NoMemory: true},
		agent.PodReading{Age: 10 * second, CPU: 5 * second, Memory: 2000, OOMKills: 2},
	)
	want := agent.Window{Pod: 7, Usage: profile.Usage{
		Age: 10 * second, Span: 10 * second, CPU: 5, Memory: 3000, MemoryPeak: 3000, OOMKills: 2,
		Demand: demandFor(.5, 10_000),
	}}
	if d := cmp.Diff(want, w); d != "" || dropped != (agent.UsageDropped{}) {
		t.Errorf("dropped %v, window (-want +got):\n%s", dropped, d)
	}
}

// TestMemoryAlone: if the kernel never reports a pod's CPU time, its memory is sent alone.
func TestMemoryAlone(t *testing.T) {
	w, dropped := windowOf(t,
		agent.PodReading{Age: second, NoCPU: true, Memory: 1000},
		agent.PodReading{Age: 2 * second, NoCPU: true, Memory: 3000},
	)
	want := agent.Window{Pod: 7, Usage: profile.Usage{Age: 2 * second, Span: 2 * second, NoCPU: true, Memory: 3000, MemoryPeak: 3000, Demand: []profile.DemandTime{}}}
	if d := cmp.Diff(want, w); d != "" || dropped != (agent.UsageDropped{}) {
		t.Errorf("dropped %v, window (-want +got):\n%s", dropped, d)
	}
}

// TestUnknownIsNoMisprediction: a pod uses what was predicted; implausible or missing figures are no
// misprediction.
func TestUnknownIsNoMisprediction(t *testing.T) {
	for name, change := range map[string]func(r *agent.PodReading){
		"nothing":        func(*agent.PodReading) {},
		"waiting leaps":  func(r *agent.PodReading) { r.Stalled = 20 * leap },
		"CPU time leaps": func(r *agent.PodReading) { r.CPU += 1000 * second },
		"no CPU time":    func(r *agent.PodReading) { r.NoCPU, r.CPU, r.Stalled, r.Pressure = true, 0, 0, false },
		"no memory":      func(r *agent.PodReading) { r.NoMemory, r.Memory, r.MemoryPeak = true, 0, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, config())
			n.samples(10, .1, .1)
			n.startPod(1, certain(1, 1e9))
			for age := 10 * second; age <= 100*second; age += 10 * second {
				r := reading(1, age, 1, 1e9)
				r.Pressure = true
				change(&r)
				n.at = n.at.Add(10 * second)
				n.p.Usage(n.at, []agent.PodReading{r})
				n.samples(10, .1, .1)
				if s := n.last().Mispredictions; s != nil {
					t.Fatalf("at %v: %+v", age, s)
				}
			}
		})
	}
}

// TestUnknownWaitKeepsTheUsage: if a pod's waiting time is unknown, its known usage counts.
func TestUnknownWaitKeepsTheUsage(t *testing.T) {
	for name, waited := range map[string]func(r *agent.PodReading, i int){
		"leaps each time":       func(r *agent.PodReading, i int) { r.Stalled = time.Duration(i) * 20 * leap },
		"runs back each time":   func(r *agent.PodReading, i int) { r.Stalled = time.Hour - time.Duration(i)*second },
		"is not known":          func(r *agent.PodReading, _ int) { r.Stalled, r.Pressure = 0, false },
		"is known now and then": func(r *agent.PodReading, i int) { r.Stalled, r.Pressure = 9*second, i%2 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, config())
			n.samples(10, .1, .1)
			n.startPod(1, certain(1, 1e9))
			born := n.at
			for i := 1; i <= 10; i++ {
				n.at = n.at.Add(10 * second)
				r := reading(1, n.at.Sub(born), 3, 1e9) // three times its prediction
				r.Pressure = true
				waited(&r, i)
				n.p.Usage(n.at, []agent.PodReading{r})
				n.samples(10, .1, .1)
			}
			for _, pod := range n.p.State().Pods {
				if pod.Use.Readings < 9 || math.Abs(pod.Use.Cores-3) > 1e-9 {
					t.Errorf("got %d readings of %g cores, want 3", pod.Use.Readings, pod.Use.Cores)
				}
			}
		})
	}
}
