package agent_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

func batch(t *testing.T, l *agent.UsageLog, at time.Time) agent.UsageBatch {
	t.Helper()
	b, ok := l.Batch(at)
	if !ok {
		t.Fatalf("no batch at %v", at.Sub(start))
	}
	return b
}

const second = time.Second

// TestMemoryStalls: a pod's wait for memory is known between two readings that both have it.
func TestMemoryStalls(t *testing.T) {
	l := agent.NewUsageLog("n", 5)
	take := func(age time.Duration, known bool, stalled time.Duration) {
		l.Take(start.Add(age), []agent.PodReading{{Pod: 7, Age: age, CPU: age / 2, MemoryPressure: known, MemoryStalled: stalled}})
	}
	var windows []agent.Window
	send := func(at time.Duration) {
		b := batch(t, l, start.Add(at))
		l.Acknowledge(5, b.Sequence)
		windows = append(windows, b.Windows...)
	}
	take(time.Second, false, 0)
	send(time.Second)
	take(30*time.Second, true, 5*time.Second) // since its start, or longer ago for an older pod
	send(30 * time.Second)
	take(31*time.Second, true, 5*time.Second)
	take(60*time.Second, true, 9*time.Second)
	send(60 * time.Second)
	take(60*time.Second+time.Millisecond, true, 40*time.Second) // more than the elapsed time
	take(130*time.Second, false, 0)
	send(130 * time.Second)
	for i, want := range []struct {
		known   bool
		stalled float64
	}{{false, 0}, {false, 0}, {true, 4}, {false, 0}} {
		if w := windows[i]; w.MemoryPressure != want.known || math.Abs(w.MemoryStalled-want.stalled) > 1e-9 {
			t.Errorf("window %d: waited %v, known %v, want %+v", i, w.MemoryStalled, w.MemoryPressure, want)
		}
	}
	// A counter that runs backwards is dropped alone.
	before := l.Dropped().Readings
	take(140*time.Second, true, 40*time.Second)
	take(150*time.Second, true, 39*time.Second)
	if got := l.Dropped().Readings - before; got != 0 {
		t.Errorf("got %d dropped readings", got)
	}
}

// TestUsageWindows: a pod's first four readings and its last are sent at once, those between once a
// minute.
func TestUsageWindows(t *testing.T) {
	l := agent.NewUsageLog("n", 5)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * 1e9)) }
	take := func(s float64, r agent.PodReading) {
		r.Pod, r.Age = 7, time.Duration(s*1e9)
		l.Take(at(s), []agent.PodReading{r})
	}
	take(1, agent.PodReading{CPU: second / 2, Stalled: second / 4, Pressure: true, Memory: 100, MemoryPeak: 150})
	want := agent.UsageBatch{Node: "n", Incarnation: 5, Sequence: 1, Windows: []agent.Window{{
		Pod: 7,
		Usage: profile.Usage{
			Age: second, Span: second, CPU: .5, Stalled: .25, Pressure: true, Memory: 100, MemoryPeak: 150,
			Demand: []profile.DemandTime{{Bucket: agent.DemandBucket(.75), Millis: 1000}},
		},
	}}}
	if d := cmp.Diff(want, batch(t, l, at(1))); d != "" {
		t.Errorf("first (-want +got):\n%s", d)
	}
	take(2, agent.PodReading{CPU: second, Pressure: true, Stalled: second / 4, Memory: 90, MemoryPeak: 150})
	if _, ok := l.Batch(at(5)); ok {
		t.Error("got a batch before the last one was acknowledged")
	}
	if again, ok := l.Unacknowledged(); !ok || cmp.Diff(want, again) != "" {
		t.Errorf("in flight: got %+v", again)
	}
	if l.Acknowledge(4, 1) || l.Acknowledge(5, 2) || !l.Acknowledge(5, 1) || l.Acknowledge(5, 1) {
		t.Error("acknowledged a batch that is not in flight")
	}
	later := agent.PodReading{CPU: 7 * second, Pressure: true, Stalled: second / 4, Throttled: second, Periods: 30, ThrottledPeriods: 10, OOMKills: 2}
	full := later
	full.Memory, full.MemoryPeak = 300, 300
	take(5, full)
	want.Sequence, want.Windows = 2, []agent.Window{{
		Pod: 7,
		Usage: profile.Usage{
			Age: 5 * second, Span: 4 * second, CPU: 6.5, Pressure: true, Throttled: 1, Periods: 30, ThrottledPeriods: 10,
			OOMKills: 2, Memory: 300, MemoryPeak: 300,
			Demand: []profile.DemandTime{{Bucket: agent.DemandBucket(.5), Millis: 1000}, {Bucket: agent.DemandBucket(2), Millis: 3000}},
		},
	}}
	if d := cmp.Diff(want, batch(t, l, at(5))); d != "" {
		t.Errorf("second (-want +got):\n%s", d)
	}
	l.Acknowledge(5, 2)
	take(10, later)
	if b := batch(t, l, at(10)); b.Windows[0].Span != 5*second || b.Windows[0].MemoryPeak != 0 {
		t.Errorf("fourth %+v", b)
	}
	l.Acknowledge(5, 3)
	later.CPU, later.Ended = 9*second, true
	take(10.3, later)
	if _, ok := l.Batch(at(10.3)); ok {
		t.Error("two batches within a second")
	}
	if b := batch(t, l, at(11)); !b.Windows[0].Ended || b.Windows[0].CPU != 2 || b.Windows[0].Span != 300*time.Millisecond {
		t.Errorf("at the end: got %+v", b)
	}
}

// TestUsageMinutes: whenever its pods are read, a node sends one batch a minute with a window of each;
// different nodes send at different seconds.
func TestUsageMinutes(t *testing.T) {
	const pods, minutes = 7, 10
	seconds := map[int]bool{}
	for node := range 60 {
		l := agent.NewUsageLog(fmt.Sprintf("node-%d", node), 0)
		var sent []int // seconds
		spans := map[reserve.PodKey][]time.Duration{}
		for s := range minutes * 60 {
			at := start.Add(time.Duration(s) * second)
			var readings []agent.PodReading
			for pod := range pods {
				// As PodUsage reads them: at 1, 2, 5 s and every ten.
				if age := s - pod; age == 1 || age == 2 || age == 5 || age > 0 && age%10 == 0 {
					readings = append(readings, agent.PodReading{Pod: reserve.PodKey(pod), Age: time.Duration(age) * second})
				}
			}
			l.Take(at, readings)
			if b, ok := l.Batch(at); ok {
				l.Acknowledge(b.Incarnation, b.Sequence)
				if s > 20 {
					sent = append(sent, s)
				}
				for _, w := range b.Windows {
					spans[w.Pod] = append(spans[w.Pod], w.Span)
				}
			}
		}
		seconds[sent[0]%60] = true
		for i, s := range sent {
			if s != sent[0]+60*i {
				t.Fatalf("node %d: got batches at the seconds %v", node, sent)
			}
		}
		if len(sent) < minutes-2 {
			t.Errorf("node %d: got %d batches in %d minutes", node, len(sent), minutes)
		}
		for pod, all := range spans {
			if len(all) < 3+len(sent) || all[4] < 30*second || all[4] >= 90*second {
				t.Errorf("node %d, pod %d: windows %v", node, pod, all)
			}
			for _, span := range all[5:] {
				if span != 60*second {
					t.Errorf("node %d, pod %d: windows %v", node, pod, all)
					break
				}
			}
		}
	}
	if len(seconds) < 25 {
		t.Errorf("60 nodes: got batches at %d different seconds of the minute", len(seconds))
	}
}

// TestUsageSums: whatever is lost and sent again, a pod's windows add up to the change of its counters.
// The reference keeps all readings.
func TestUsageSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 2))
	l := agent.NewUsageLog("", 0)
	type reference struct {
		first, last agent.PodReading
		firstAt     time.Time
		lastAt      time.Time
		cpu, span   float64
		periods     uint32
		millis      uint32
		ended       bool
	}
	references := map[reserve.PodKey]*reference{}
	at := start
	drain := func() {
		if b, ok := l.Batch(at); ok {
			for _, w := range b.Windows {
				tw := references[w.Pod]
				tw.cpu, tw.span, tw.periods = tw.cpu+w.CPU, tw.span+w.Span.Seconds(), tw.periods+w.Periods
				tw.ended = tw.ended || w.Ended
				for i, d := range w.Demand {
					tw.millis += d.Millis
					if i > 0 && d.Bucket <= w.Demand[i-1].Bucket || d.Bucket >= agent.DemandBuckets {
						t.Fatalf("buckets %v", w.Demand)
					}
				}
			}
		}
		if b, ok := l.Unacknowledged(); ok && rng.IntN(3) > 0 {
			l.Acknowledge(b.Incarnation, b.Sequence)
		}
	}
	for step := range 3000 {
		at = at.Add(time.Duration(1+rng.IntN(400)) * time.Millisecond)
		var readings []agent.PodReading
		for key, tw := range references {
			if tw.last.Ended || rng.IntN(4) > 0 {
				continue
			}
			tw.last.CPU += time.Duration(rng.IntN(1e9))
			tw.last.Periods += uint64(rng.IntN(20))
			tw.last.Age += at.Sub(tw.lastAt)
			tw.last.Ended = rng.IntN(40) == 0
			tw.lastAt = at
			readings = append(readings, tw.last)
			_ = key
		}
		if step%20 == 0 && step < 2500 {
			r := agent.PodReading{Pod: reserve.PodKey(step + 1), Age: time.Second, CPU: second / 3, AgeUnknown: rng.IntN(2) == 0}
			references[r.Pod] = &reference{first: r, last: r, firstAt: at, lastAt: at}
			readings = append(readings, r)
		}
		l.Take(at, readings)
		drain()
	}
	for _, tw := range references { // the running pods end
		if !tw.last.Ended {
			tw.last.Ended, tw.last.CPU = true, tw.last.CPU+second
			l.Take(at.Add(second), []agent.PodReading{tw.last})
			tw.lastAt = at.Add(second)
		}
	}
	for range 100 {
		at = at.Add(2 * second)
		drain()
	}
	for key, tw := range references {
		cpu, span, periods := tw.last.CPU, tw.lastAt.Sub(tw.firstAt), tw.last.Periods
		if tw.first.AgeUnknown {
			cpu -= tw.first.CPU
		} else {
			span += second
		}
		if !tw.ended || math.Abs(tw.cpu-cpu.Seconds()) > 1e-9 || math.Abs(tw.span-span.Seconds()) > 1e-9 || tw.periods != uint32(periods) ||
			math.Abs(float64(tw.millis)-1000*tw.span) > 1000 {
			t.Errorf("pod %d: %+v, want %v in %v", key, tw, cpu, span)
		}
	}
	if d := l.Dropped(); d != (agent.UsageDropped{}) {
		t.Errorf("dropped %+v", d)
	}
}

// TestUsageDrops counts the losses: counters that run backwards or faster than any machine, pods over
// the limit, windows during a long outage of the profiler.
func TestUsageDrops(t *testing.T) {
	l := agent.NewUsageLog("", 0)
	l.SetMost(3)
	take := func(s int, r agent.PodReading) {
		r.Age = time.Duration(s) * second
		l.Take(start.Add(r.Age), []agent.PodReading{r})
	}
	expect := func(windows, readings uint64) {
		t.Helper()
		if d := l.Dropped(); d.Windows != windows || d.Readings != readings {
			t.Errorf("got dropped %+v, want %d windows and %d readings", d, windows, readings)
		}
	}
	take(1, agent.PodReading{Pod: 1, CPU: second})
	take(2, agent.PodReading{Pod: 1, CPU: second / 2})
	expect(0, 1)
	take(3, agent.PodReading{Pod: 1, CPU: 5000 * second})
	expect(0, 2)
	take(4, agent.PodReading{Pod: 1, CPU: 5001 * second, Periods: 3})
	take(5, agent.PodReading{Pod: 1, CPU: 5001 * second, Periods: 2}) // the figures of a CPU limit are dropped alone
	expect(0, 2)
	b := batch(t, l, start.Add(5*second))
	if w := b.Windows[0]; w.CPU != 2 || w.Span != 3*second || w.Periods != 3 {
		t.Errorf("remaining window: got %+v", w)
	}
	for pod := reserve.PodKey(2); pod <= 4; pod++ {
		take(6, agent.PodReading{Pod: pod})
	}
	expect(1, 2)
	for s := 10; s < 660; s += 10 {
		take(s, agent.PodReading{Pod: 4})
	}
	expect(2, 2)
	take(5000, agent.PodReading{Pod: 4, CPU: 9 * second})
	expect(3, 2)
	l.Acknowledge(b.Incarnation, b.Sequence)
	for _, w := range batch(t, l, start.Add(5001*second)).Windows {
		if w.Pod == 1 || w.CPU != 0 {
			t.Errorf("sent %+v", w)
		}
	}
}

// TestUsageQuiet: a log is quiet while no batch is in flight, Batch returns none at any time, and no
// pod is due for one of its first four readings.
func TestUsageQuiet(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 3))
	quiet := 0
	for node := range 20 {
		l := agent.NewUsageLog(fmt.Sprintf("node-%d", node), 0)
		reads := map[reserve.PodKey]int{} // of running pods
		for s := range 600 {
			at := start.Add(time.Duration(s) * second)
			var readings []agent.PodReading
			for born := 0; born < s; born += 150 {
				pod := reserve.PodKey(born)
				if born == s-10 {
					reads[pod] = 0
				}
				if _, lives := reads[pod]; !lives || (s-born)%10 > 0 {
					continue
				}
				r := agent.PodReading{Pod: pod, Age: time.Duration(s-born) * second, Ended: rng.IntN(40) == 0}
				readings = append(readings, r)
				if reads[pod]++; r.Ended {
					delete(reads, pod)
				}
			}
			l.Take(at, readings)
			young := false
			for _, n := range reads {
				young = young || n < 4
			}
			got := l.Quiet()
			_, underWay := l.Unacknowledged()
			b, due := l.Batch(at.Add(time.Hour))
			if want := !underWay && !due && !young; got != want {
				t.Fatalf("node %d at %d s: quiet %v; batch in flight %v, batch due %v %+v, young pod %v", node, s, got, underWay, due, b, young)
			}
			if got {
				quiet++
			}
			if b, underWay := l.Unacknowledged(); underWay && rng.IntN(2) == 0 {
				l.Acknowledge(b.Incarnation, b.Sequence)
			}
		}
	}
	if quiet < 1000 {
		t.Errorf("got %d quiet seconds of 12,000", quiet)
	}
}

func TestUsageBatchIsBounded(t *testing.T) {
	l := agent.NewUsageLog("", 0)
	var readings []agent.PodReading
	for pod := range 600 {
		readings = append(readings, agent.PodReading{Pod: reserve.PodKey(pod), Age: second})
	}
	l.Take(start, readings)
	seen := map[reserve.PodKey]bool{}
	for i, want := range []int{256, 256, 88} {
		b := batch(t, l, start.Add(time.Duration(i)*second))
		if len(b.Windows) != want {
			t.Errorf("batch %d of %d windows", i, len(b.Windows))
		}
		for _, w := range b.Windows {
			seen[w.Pod] = true
		}
		l.Acknowledge(0, b.Sequence)
	}
	if len(seen) != 600 {
		t.Errorf("%d pods", len(seen))
	}
}

func TestDemandBuckets(t *testing.T) {
	end := func(i uint32) float64 { return .01 * (math.Pow(1.05, float64(i+1)) - 1) / .05 }
	for i := range uint32(agent.DemandBuckets - 1) {
		if got, next := agent.DemandBucket(end(i)*(1-1e-9)), agent.DemandBucket(end(i)*(1+1e-9)); got != i || next != i+1 {
			t.Errorf("around %v: got %d and %d, want %d and the next", end(i), got, next, i)
		}
	}
	for cores, want := range map[float64]uint32{0: 0, -1: 0, 1e9: 175} {
		if got := agent.DemandBucket(cores); got != want {
			t.Errorf("%v: %d", cores, got)
		}
	}
	if agent.DemandBucket(math.NaN()) != 0 || agent.DemandBucket(math.Inf(1)) != 175 {
		t.Error("no bucket for NaN")
	}
}

func TestSteadyUsageLog(t *testing.T) {
	l := agent.NewUsageLog("", 0)
	readings := []agent.PodReading{{Pod: 1}, {Pod: 2}}
	at := start
	if n := testing.AllocsPerRun(100, func() {
		at = at.Add(10 * second)
		for i := range readings {
			readings[i].Age += 10 * second
			readings[i].CPU += 2 * second
		}
		l.Take(at, readings)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Time that a CPU limit throttles a pod counts as stalled, as in the kernel, and is no demand for
// cores. If four threads are throttled together, the throttled time counts four times and the stalled
// time once.
func TestThrottlingIsNoDemand(t *testing.T) {
	for _, test := range []struct {
		stalled, throttled float64
		periods            uint64 // periods of a tenth of a second in which the limit was reached
		cores              float64
	}{{.5, 0, 0, .7}, {.5, .3, 4, .4}, {.5, .5, 9, .2}, {.5, .45, 9, .25}, {.5, .8, 2, .5}, {.5, 4, 10, .2}} {
		l := agent.NewUsageLog("n", 1)
		seconds := func(s float64) time.Duration { return time.Duration(s * 1e9) }
		l.Take(start, []agent.PodReading{{
			Pod: 7, Age: second, CPU: second / 5, Stalled: seconds(test.stalled), Throttled: seconds(test.throttled), Periods: 10, ThrottledPeriods: test.periods, Pressure: true,
		}})
		w := batch(t, l, start).Windows[0]
		want := []profile.DemandTime{{Bucket: agent.DemandBucket(test.cores + 1e-9), Millis: 1000}}
		if d := cmp.Diff(want, w.Demand); d != "" || w.Stalled != test.stalled || w.Throttled != test.throttled {
			t.Errorf("%+v: %+v: %s", test, w, d)
		}
	}
}
