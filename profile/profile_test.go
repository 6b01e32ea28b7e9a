package profile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

func newProfile(t testing.TB, c profile.Config) *profile.Profile {
	t.Helper()
	p, err := profile.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// window returns one of a pod that runs for a minute and ends.
func window(pod string, cores, bytes float64) profile.Window {
	return profile.Window{
		Pod: pod, Node: "n",
		Usage: profile.Usage{Age: time.Minute, Span: time.Minute, CPU: cores * 60, MemoryPeak: bytes, Ended: true, Pressure: true},
	}
}

func observe(t testing.TB, p *profile.Profile, at time.Time, w profile.Window) {
	t.Helper()
	if err := p.Observe(at, w); err != nil {
		t.Fatal(err)
	}
}

func demandNear(t *testing.T, what string, got, want profile.Demand) {
	t.Helper()
	for _, c := range [][3]any{{"CPU", got.CPU, want.CPU}, {"memory", got.Memory, want.Memory}} {
		g, w := c[1].(profile.Share), c[2].(profile.Share)
		for _, v := range [][2]float64{{g.Amount, w.Amount}, {g.SD, w.SD}, {g.Confidence, w.Confidence}} {
			if math.Abs(v[0]-v[1]) > 1e-6*math.Max(1, math.Abs(v[1])) {
				t.Errorf("%s: %s is %+v, want %+v", what, c[0], g, w)
				break
			}
		}
	}
}

// A pod is one observation, however often it was read, with its mean and its peak.
func TestProfileCountsPods(t *testing.T) {
	p := newProfile(t, profile.Config{})
	if d := p.Demand(start, 0); d != (profile.Demand{}) {
		t.Errorf("nothing known: %+v", d)
	}
	for i, w := range []profile.Window{
		{Usage: profile.Usage{Age: time.Minute, Span: time.Minute, CPU: 30, Stalled: 30, MemoryPeak: 3e8, Pressure: true}},
		{Usage: profile.Usage{Age: 2 * time.Minute, Span: time.Minute, CPU: 120, Stalled: 60, MemoryPeak: 2e8, Pressure: true}},
		{Usage: profile.Usage{Age: 3 * time.Minute, Span: time.Minute, CPU: 120, MemoryPeak: 1e8, Ended: true, Pressure: true}},
	} {
		w.Pod, w.Node = "a", "n"
		observe(t, p, start.Add(time.Duration(i)*time.Minute), w)
	}
	demandNear(t, "one pod", p.Demand(start, 0), profile.Demand{
		CPU: profile.Share{Amount: 2, Confidence: .5}, Memory: profile.Share{Amount: 3e8, Confidence: .5}})
	b := window("b", 1.2, 1.5e8)
	b.Age = 3 * time.Minute
	observe(t, p, start.Add(3*time.Minute), b)
	d := p.Demand(start, 0)
	if math.Abs(d.CPU.Amount-1.6) > 1e-3 || math.Abs(d.CPU.Confidence-2./3) > 1e-3 || math.Abs(d.CPU.SD-.4) > 1e-3 {
		t.Errorf("two pods: %+v", d)
	}
}

// A value that was not measured is unknown, not zero.
func TestUnknownIsNoZero(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 20 {
		w := profile.Window{Pod: fmt.Sprint("pod-", i), Node: "n", Usage: profile.Usage{Age: time.Hour, Span: time.Minute, Pressure: true}}
		if i%2 == 0 {
			w.NoCPU, w.MemoryPeak = true, 1e8
		} else {
			w.CPU = 30
		}
		w.Ended = i%4 < 2 // others live on
		observe(t, p, start.Add(time.Duration(i)*time.Second), w)
		d := restored(t, profile.Config{}, p.State()).Demand(start, 0)
		if i == 0 && (d.CPU != profile.Share{} || d.Memory.Amount != 1e8) {
			t.Errorf("CPU was never measured: %+v", d)
		}
	}
	// Ten pods of each: λ = 10/11, to the nearest 1/1000.
	demandNear(t, "twenty pods", p.Demand(start, 0), profile.Demand{
		CPU: profile.Share{Amount: .5, Confidence: 10. / 11}, Memory: profile.Share{Amount: 1e8, Confidence: 10. / 11}})
	recommended, err := p.Recommend(start.Add(time.Minute), profile.Spazio(), profile.Bounds{})
	if err != nil || len(recommended) != 1 || recommended[0].LowerBound.CPU < .4 || recommended[0].LowerBound.Memory < 9e7 {
		t.Errorf("recommended %+v, %v", recommended, err)
	}
}

// "Some" of cpu.pressure is wall time: in a job of a second no task can wait for longer. The
// kernel's counter jumps by 2³² ns now and then; the rest of the window holds.
func TestWaitingIsNoLongerThanTheSpan(t *testing.T) {
	for name, c := range map[string]struct{ leaps int }{"one leap": {1}, "all leap": {20}} {
		p := newProfile(t, profile.Config{})
		for i := range 20 {
			w := profile.Window{Pod: fmt.Sprint("job-", i), Node: "n", Usage: profile.Usage{
				Age: time.Second, Span: time.Second, CPU: .3, MemoryPeak: 1e8, Ended: true, Pressure: true,
			}}
			if i < c.leaps {
				w.Stalled = 4.295
				w.Demand = []profile.DemandTime{{Bucket: uint32(profile.CPU.Bucket(4.595)), Millis: 1000}}
			}
			observe(t, p, start.Add(time.Duration(i)*time.Second), w)
		}
		d := p.Demand(start, 0)
		if math.Abs(d.CPU.Amount-.3) > .05 || d.Memory.Amount != 1e8 {
			t.Errorf("%s: demand %+v, want .3 cores and 1e8 bytes", name, d)
		}
		if c.leaps == 20 && d.CPU.Confidence > .5 {
			t.Errorf("waiting was never measured, and the confidence is %v", d.CPU.Confidence)
		}
		recommended, err := p.Recommend(start.Add(time.Minute), profile.Spazio(), profile.Bounds{})
		if err != nil || len(recommended) != 1 || recommended[0].Target.CPU > 1 {
			t.Errorf("%s: %+v, %v; want at most a core", name, recommended, err)
		}
	}
}

// Demands that add up to more than the CPU time and the span are impossible.
func TestDemandsBeyondTheWindow(t *testing.T) {
	p := newProfile(t, profile.Config{})
	w := profile.Window{
		Pod: "a", Node: "n",
		Usage: profile.Usage{
			Age: time.Minute, Span: time.Minute, CPU: 18, Stalled: 6, MemoryPeak: 1e8, Ended: true,
			Demand: []profile.DemandTime{{Bucket: uint32(profile.CPU.Bucket(500)), Millis: 60000}}, Pressure: true,
		},
	}
	observe(t, p, start, w)
	recommended, err := p.Recommend(start.Add(time.Minute), profile.Spazio(), profile.Bounds{})
	if err != nil || len(recommended) != 1 || recommended[0].Target.CPU > 1 {
		t.Errorf("%+v, %v; want at most a core", recommended, err)
	}
}

// The evidence does not depend on the order of pods' windows.
func TestProfileOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var all []observed
	for i := range 60 {
		w := window(fmt.Sprint("pod", i), .9+.2*r.Float64(), 1e8*(.9+.2*r.Float64()))
		w.Node = fmt.Sprint("node", i%4)
		if i%3 == 0 { // alive, and old enough to count in full
			w.Ended, w.Age = false, time.Hour
		}
		all = append(all, observed{start.Add(time.Duration(r.IntN(300)) * time.Second), w})
	}
	var want profile.Demand
	for round := range 5 {
		p := newProfile(t, profile.Config{})
		for _, o := range all {
			observe(t, p, o.at, o.w)
		}
		if round == 0 {
			want = p.Demand(start, time.Minute)
			if want.CPU.Confidence < .98 {
				t.Errorf("60 pods: %+v", want)
			}
		}
		demandNear(t, "another order", p.Demand(start, time.Minute), want)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
}

// Three pods in a row that take four times as much replace the evidence.
func TestProfileRestarts(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 9 {
		observe(t, p, start, window(fmt.Sprint("old", i), .5, 1e8))
	}
	for i, cores := range []float64{2, 2, 2} {
		if got := p.Demand(start, 0).CPU.Amount; math.Abs(got-.5) > 1e-9 {
			t.Errorf("after %d contradictions: %v cores", i, got)
		}
		w := window(fmt.Sprint("new", i), cores, 1e8)
		observe(t, p, start, w)
	}
	d := p.Demand(start, 0)
	if math.Abs(d.CPU.Amount-2) > 1e-9 || d.CPU.Confidence != .75 || p.Restarts() != 1 {
		t.Errorf("%+v after %d restarts, want 2 cores of three pods", d.CPU, p.Restarts())
	}
	if math.Abs(d.Memory.Confidence-12./13) > 1e-9 {
		t.Errorf("memory was not contradicted: %+v", d.Memory)
	}
	// One pod that is read again and again is one contradiction.
	p = newProfile(t, profile.Config{})
	observe(t, p, start, window("a", .5, 1e8))
	for range 5 {
		w := window("b", 2, 1e8)
		w.Ended = false
		observe(t, p, start, w)
	}
	if got := p.Demand(start, 0).CPU.Amount; math.Abs(got-.5) > 1e-9 || p.Restarts() != 0 {
		t.Errorf("one pod read five times: %v cores, %d restarts", got, p.Restarts())
	}
	// After an outlier the next pod is as expected.
	observe(t, p, start, window("c", .5, 1e8))
	if got := p.Demand(start, 0).CPU.Amount; math.Abs(got-1) > 1e-9 {
		t.Errorf("with the tail %v cores, want 1", got)
	}
	// Services warm up: low use early in life is no contradiction.
	p = newProfile(t, profile.Config{})
	for i := range 4 {
		w := window(fmt.Sprint(i), 1, 1e9)
		w.Age, w.Span = 10*time.Minute, 10*time.Minute
		w.CPU = 600
		observe(t, p, start, w)
	}
	for i := range 5 {
		w := window(fmt.Sprint("young", i), .01, 1e6)
		w.Ended = false
		observe(t, p, start, w)
	}
	if p.Restarts() != 0 {
		t.Errorf("%d restarts by young pods", p.Restarts())
	}
}

// A pod's later reading replaces its earlier one, and does not contradict it.
func TestProfileReplacesReadings(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 10 {
		w := window("a", 5, 1e8)
		if i == 0 {
			w.CPU = 6
		}
		w.Age, w.Ended = time.Duration(i+1)*time.Minute, false
		observe(t, p, start.Add(time.Duration(i)*time.Minute), w)
	}
	if d := p.Demand(start, 0).CPU; math.Abs(d.Amount-4.51) > 1e-9 || d.Confidence != .5 {
		t.Errorf("%+v, want one pod of 4.51 cores", d)
	}
}

// A pod's weight grows with its age, up to the median pod's.
func TestProfileWeighsByAge(t *testing.T) {
	p := newProfile(t, profile.Config{})
	w := window("young", 1, 1e8)
	w.Age, w.Span, w.CPU, w.Ended = 5*time.Second, 5*time.Second, 5, false
	observe(t, p, start, w)
	if d := p.Demand(start, 0).CPU; math.Abs(d.Confidence-1./3) > 1e-9 {
		t.Errorf("%+v, want half a pod: five of ten seconds", d)
	}
	w.Ended = true
	observe(t, p, start, w)
	if d := p.Demand(start, 0).CPU; math.Abs(d.Confidence-.5) > 1e-9 {
		t.Errorf("%+v, want one pod at its end", d)
	}
	// If pods live for a minute, one that ends within half of it counts less, the sooner it does.
	p = newProfile(t, profile.Config{})
	for i := range 3 {
		observe(t, p, start, window(fmt.Sprint(i), 1, 1e8))
	}
	before, _ := p.Evidence()
	for _, c := range []struct{ age, weight float64 }{{40, 1}, {3, .1}} {
		w := window(fmt.Sprint("ended at ", c.age), 1, 1e8)
		w.Age = time.Duration(c.age * float64(time.Second))
		w.Span, w.CPU = w.Age, c.age
		observe(t, p, start, w)
		cpu, _ := p.Evidence()
		// Lifetimes are known to the bucket.
		if more := cpu.Pods - before.Pods; math.Abs(more-c.weight) > .1*c.weight {
			t.Errorf("one that ended at %v s weighs %v, want %v", c.age, more, c.weight)
		}
		before = cpu
	}
	// If pods live for an hour, one of ten minutes counts fully, one of a minute a tenth of that.
	p = newProfile(t, profile.Config{})
	w = window("old", 1, 1e8)
	w.Age = time.Hour
	observe(t, p, start, w)
	w = window("new", 1, 1e8)
	w.Ended = false
	observe(t, p, start, w)
	if cpu, _ := p.Evidence(); math.Abs(cpu.Pods-1.1) > 1e-9 {
		t.Errorf("%v pods, want one and a tenth", cpu.Pods)
	}
}

// A young pod whose memory grows has not reached its demand, nor has a killed one: they count if
// their demand is above the others'.
func TestProfileGrowingMemory(t *testing.T) {
	early := func(p *profile.Profile, pod string, peaks ...float64) (memory profile.Evidence) {
		before := time.Duration(0)
		for i, peak := range peaks {
			age := []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}[i]
			observe(t, p, start.Add(age), profile.Window{Pod: pod, Node: "n", Usage: profile.Usage{
				Age: age, Span: age - before, CPU: (age - before).Seconds(), Memory: peak, MemoryPeak: peak, Pressure: true,
			}})
			before = age
		}
		_, memory = p.Evidence()
		return memory
	}
	for _, c := range []struct {
		name      string
		peaks     []float64
		pods, say float64
	}{
		{"one reading", []float64{1e8}, 0, 0},
		{"grows", []float64{1e8, 2e8}, 0, 0},
		{"grows on, but is as old as half of all", []float64{1e8, 2e8, 5e8}, .5, 5e8},
		{"all at once", []float64{5e8, 5e8}, .2, 5e8},
		{"grown by hardly anything", []float64{5e8, 5.4e8}, .2, 5.4e8},
		{"is less now", []float64{1e8, 5e8, 2e8}, .5, 5e8},
	} {
		p := newProfile(t, profile.Config{})
		if e := early(p, "a", c.peaks...); math.Abs(e.Pods-c.pods) > 1e-6 || math.Abs(e.Mean-c.say) > 1 {
			t.Errorf("%s: %v pods of %v bytes, want %v of %v", c.name, e.Pods, e.Mean, c.pods, c.say)
		}
		if cpu, _ := p.Evidence(); cpu.Pods == 0 {
			t.Errorf("%s: nothing of the CPU", c.name)
		}
	}
	p := newProfile(t, profile.Config{})
	observe(t, p, start, window("old", 1, 1e9))
	if e := early(p, "young", 1e8, 3e8); math.Abs(e.Mean-1e9) > 1 || math.Abs(e.Pods-1) > 1e-6 {
		t.Errorf("%v pods of %v bytes, want the old one alone", e.Pods, e.Mean)
	}
	if e := early(p, "larger", 5e8, 1.2e9); !(e.Mean > 1.001e9) {
		t.Errorf("%v bytes: one that takes more is not heard", e.Mean)
	}
	killed := func(pod string, bytes float64) (memory profile.Evidence) {
		w := window(pod, 1, bytes)
		w.OOMKills = 1
		observe(t, p, start, w)
		_, memory = p.Evidence()
		return memory
	}
	before := early(p, "another", 1e8)
	if e := killed("small", 3e8); e != before {
		t.Errorf("killed at less than others take: %+v, before %+v", e, before)
	}
	if e := killed("large", 1.5e9); !(e.Mean > before.Mean) {
		t.Errorf("killed at more than others take: %v bytes, before %v", e.Mean, before.Mean)
	}
	// Without other pods it is the only evidence.
	first := newProfile(t, profile.Config{})
	w := window("first", 1, 3e8)
	w.OOMKills = 1
	observe(t, first, start, w)
	if _, memory := first.Evidence(); memory.Pods != 1 || memory.Mean != 3e8 {
		t.Errorf("the only pod, killed: %+v", memory)
	}
	// It does not count for how long pods live either.
	observe(t, p, start, window("lives", 1, 1e9))
	life := p.Lifetime(.5)
	for i := range 9 {
		w := window(fmt.Sprint("dies", i), 1, 1e8)
		w.Age, w.Span, w.CPU, w.OOMKills = time.Second, time.Second, 1, 1
		observe(t, p, start, w)
	}
	if p.Lifetime(.5) != life {
		t.Errorf("pods live for %v, without those killed %v", p.Lifetime(.5), life)
	}
}

// A profile three times too large is detected like one three times too small.
func TestProfileRestartsDownwards(t *testing.T) {
	for _, factor := range []float64{3, 1. / 3} {
		p := newProfile(t, profile.Config{})
		for i := range 50 {
			observe(t, p, start, window(fmt.Sprint("old", i), factor, factor*1e9))
		}
		for i := range 3 {
			observe(t, p, start, window(fmt.Sprint("new", i), 1, 1e9))
		}
		if cpu, memory := p.Evidence(); math.Abs(cpu.Mean-1) > 1e-9 || math.Abs(memory.Mean-1e9) > 1 || p.Restarts() != 1 {
			t.Errorf("%.2f times the truth: %v cores, %v bytes after %d restarts", factor, cpu.Mean, memory.Mean, p.Restarts())
		}
	}
}

// An outlier that lives on is one of the three, whatever the end of the others.
func TestProfileRestartsOfLivePods(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 9 {
		observe(t, p, start, window(fmt.Sprint("old", i), .5, 1e8))
	}
	for i, ended := range []bool{false, true, true} {
		w := window(fmt.Sprint("new", i), 2, 1e8)
		w.Ended = ended
		observe(t, p, start, w)
	}
	w := window("new0", 2, 1e8)
	observe(t, p, start, w)
	if cpu, _ := p.Evidence(); math.Abs(cpu.Pods-3) > 1e-9 || math.Abs(cpu.Mean-2) > 1e-9 {
		t.Errorf("%v pods of %v cores, want the three", cpu.Pods, cpu.Mean)
	}
}

// Live pods from before a restart do not count until they are read again.
func TestProfileRestartsForgetLivePods(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 12 {
		w := window(fmt.Sprint(i), .5, 1e8)
		if i >= 9 {
			w.CPU = 120
		}
		w.Ended = false
		observe(t, p, start, w)
	}
	if cpu, memory := p.Evidence(); cpu.Pods != 3 || cpu.Mean != 2 || memory.Pods != 12 {
		t.Errorf("%v pods of %v cores, %v of memory, want the last three and all", cpu.Pods, cpu.Mean, memory.Pods)
	}
}

// The demand is the largest of each resource, from any slot.
func TestProfileDearestOfEach(t *testing.T) {
	p := newProfile(t, profile.Config{})
	midnight := start.Truncate(24 * time.Hour)
	for hour := range 72 {
		cores, bytes := 1.6, 1e8
		if hour%24 >= 12 {
			cores, bytes = 1, 1.6e8
		}
		observe(t, p, midnight.Add(time.Duration(hour)*time.Hour), window(fmt.Sprint(hour), cores, bytes))
	}
	at := midnight.Add(72 * time.Hour)
	d := p.Demand(at, 13*time.Hour)
	if math.Abs(d.CPU.Amount-1.6) > 1e-9 || math.Abs(d.Memory.Amount-1.6e8) > 1 {
		t.Errorf("%+v, want the morning's cores and the afternoon's memory", d)
	}
	for _, lives := range []time.Duration{20 * time.Hour, 48 * time.Hour} {
		if d := p.Demand(at, lives); math.Abs(d.CPU.Amount-1.6) > 1e-9 {
			t.Errorf("for %v %+v, want the morning's cores", lives, d.CPU)
		}
	}
	slots := p.Slots()
	if len(slots) != 4 {
		t.Fatalf("%d slots", len(slots))
	}
	for i, s := range slots {
		if morning := i < 2; morning != (s.CPU.Amount > 1.3) || morning == (s.Memory.Amount > 1.3e8) {
			t.Errorf("slot %d: %+v", i, s)
		}
	}
	// The result belongs to the caller.
	slots[0] = profile.Demand{}
	if p.Slots()[0] == slots[0] {
		t.Error("the caller's change is seen")
	}
	// Windows of another time zone do not count.
	q := restored(t, profile.Config{Zone: time.FixedZone("east", 6*3600)}, p.State())
	for i, s := range q.Slots() {
		if math.Abs(s.CPU.Amount-1.3) > .01 {
			t.Errorf("slot %d of another zone: %+v, want the day's", i, s)
		}
	}
	if got := p.Lifetime(.9); got < time.Minute || got > 67*time.Second {
		t.Errorf("pods live for %v, want a minute and a bucket", got)
	}
}

func TestProfileRevision(t *testing.T) {
	p := newProfile(t, profile.Config{})
	with := func(revision, pod string, cores float64, age time.Duration) profile.Window {
		w := window(pod, cores, 1e8)
		w.Revision, w.Age, w.Ended = revision, age, false
		return w
	}
	for i := range 9 {
		observe(t, p, start, with("one", fmt.Sprint(i), 1, time.Hour))
	}
	observe(t, p, start.Add(time.Minute), with("two", "new", 1.5, time.Minute))
	d := p.Demand(start, 0)
	if math.Abs(d.CPU.Amount-3.5/3) > 1e-3 || math.Abs(d.CPU.Confidence-.75) > 1e-3 || p.Revision() != "two" {
		t.Errorf("%+v of revision %s, want two old pods' worth and one", d.CPU, p.Revision())
	}
	// A remaining pod of the old revision does not count for the new one.
	observe(t, p, start.Add(2*time.Minute), with("one", "3", 9, time.Hour))
	demandNear(t, "an old pod", p.Demand(start, 0), d)
	// After a rollback, younger pods of the old name are a new revision.
	observe(t, p, start.Add(10*time.Minute), with("one", "back", 1, time.Minute))
	if p.Revision() != "one" {
		t.Errorf("revision %s after the way back", p.Revision())
	}
}

// A node that reports a hundred pods has four times the weight of the median node.
func TestProfileLimitsNodes(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 3 {
		w := window(fmt.Sprint("honest", i), 1, 1e8)
		w.Node = fmt.Sprint(i)
		observe(t, p, start, w)
	}
	for i := range 100 {
		w := window(fmt.Sprint("liar", i), 1.5, 1e8)
		w.Node = "liar"
		observe(t, p, start, w)
	}
	d := p.Demand(start, 0)
	if want := (3 + 4*1.5) / 7; math.Abs(d.CPU.Amount-want) > 1e-9 || math.Abs(d.CPU.Confidence-7./8) > 1e-9 {
		t.Errorf("%+v, want %v cores of 7 pods", d.CPU, want)
	}
}

func TestProfileSlots(t *testing.T) {
	fill := func(c profile.Config, always bool) *profile.Profile {
		p := newProfile(t, c)
		for days := range 3 {
			for hour := range 24 {
				cores := 1.
				if hour >= 18 {
					cores = 1.6
				}
				w := window(fmt.Sprint(days, hour), cores, 1e8)
				w.Always = always
				observe(t, p, start.Truncate(24*time.Hour).AddDate(0, 0, days).Add(time.Duration(hour)*time.Hour), w)
			}
		}
		return p
	}
	noon := start.Truncate(24*time.Hour).AddDate(0, 0, 3).Add(12 * time.Hour)
	p := fill(profile.Config{}, false)
	for name, c := range map[string]struct {
		at    time.Time
		lives time.Duration
		want  float64
	}{
		"within the slot":    {noon, time.Hour, 1},
		"into the evening":   {noon, 7 * time.Hour, 1.6},
		"evening":            {noon.Add(8 * time.Hour), time.Hour, 1.6},
		"a day":              {noon, 24 * time.Hour, 1.6},
		"as most pods live":  {noon, 0, 1},
		"most pods, evening": {noon.Add(6*time.Hour - 30*time.Second), 0, 1.6},
	} {
		if got := p.Demand(c.at, c.lives).CPU.Amount; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v cores, want %v", name, got, c.want)
		}
	}
	if got := fill(profile.Config{}, true).Demand(noon, 0).CPU.Amount; math.Abs(got-1.6) > 1e-9 {
		t.Errorf("a pod for ever: %v cores, want the dearest slot's", got)
	}
	// One slot is the whole day; a slot with too few pods borrows from it.
	one := fill(profile.Config{Slots: 1}, false).Demand(noon, time.Hour)
	few := fill(profile.Config{}.WithSlotEvidence(1000, 0), false).Demand(noon, time.Hour)
	demandNear(t, "borrowed", few, one)
	if math.Abs(one.CPU.Amount-1.15) > .01 {
		t.Errorf("the whole day: %v cores, want some 1.15", one.CPU.Amount)
	}
}

func TestProfilePrior(t *testing.T) {
	p := newProfile(t, profile.Config{})
	prior := profile.Demand{CPU: profile.Share{Amount: 2, SD: .1, Confidence: .5}}
	if err := p.SetPrior(prior); err != nil {
		t.Fatal(err)
	}
	demandNear(t, "prior alone", p.Demand(start, 0), prior)
	refused(t, "CPU.Amount", p.SetPrior(profile.Demand{CPU: profile.Share{Amount: math.NaN()}}))
	// Without a measure of waiting, confidence is at most half.
	for i := range 9 {
		w := window(fmt.Sprint(i), 1, 1e8)
		w.Pressure = false
		observe(t, p, start, w)
	}
	if d := p.Demand(start, 0); d.CPU.Confidence != .5 || d.Memory.Confidence != .9 {
		t.Errorf("%+v", d)
	}
}

func TestProfileGone(t *testing.T) {
	p := newProfile(t, profile.Config{})
	w := window("a", 1, 4e8)
	w.Ended = false
	observe(t, p, start, w)
	before := p.Demand(start, 0)
	p.Gone("a")
	p.Gone("unknown")
	demandNear(t, "gone", p.Demand(start, 0), before)
	// A later workload of the same name is another one.
	w.Memory, w.MemoryPeak = 1e8, 1e8
	observe(t, p, start, w)
	if cpu, _ := p.Evidence(); cpu.Pods != 2 {
		t.Errorf("%v pods, want two", cpu.Pods)
	}
	if got := recommend(t, p, start, profile.Preset{Memory: profile.Rule{Percentile: 1e-9, Pods: .4}}, profile.Bounds{}).Target.Memory; got > 1.2e8 {
		t.Errorf("P40 of two pods %v, want the lower", got)
	}
}

// Demand follows observations, downwards too, and so does the pods' life.
func TestDemandFollows(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 9 {
		observe(t, p, start, window(fmt.Sprint("old", i), 3, 1e8))
	}
	if got := p.Slots()[0].CPU.Amount; got != 3 {
		t.Errorf("%v cores a slot", got)
	}
	for i := range 3 {
		observe(t, p, start, window(fmt.Sprint("new", i), .5, 1e8))
	}
	if got := p.Slots()[0].CPU.Amount; math.Abs(got-.5) > 1e-9 {
		t.Errorf("%v cores a slot after a restart", got)
	}
	for _, lives := range []time.Duration{0, time.Minute, 48 * time.Hour} {
		if got := p.Demand(start, lives).CPU.Amount; math.Abs(got-.5) > 1e-9 {
			t.Errorf("%v cores for %v after a restart", got, lives)
		}
	}
	// Pods that never end take the slot with the largest demand, which is not the present one.
	p = newProfile(t, profile.Config{Slots: 2}.WithSlotEvidence(1, 1))
	midnight := start.Truncate(24 * time.Hour)
	observe(t, p, midnight.Add(13*time.Hour), window("noon", 2, 1e8))
	observe(t, p, midnight.Add(25*time.Hour), window("night", 1, 1e8))
	night := midnight.Add(48 * time.Hour)
	if got := p.Demand(night, 0).CPU.Amount; got != 1 {
		t.Errorf("a minute at night takes %v cores", got)
	}
	w := window("for ever", 1, 1e8)
	w.Always, w.Ended = true, false
	observe(t, p, night, w)
	if got := p.Demand(night, 0).CPU.Amount; got != 2 {
		t.Errorf("for ever takes %v cores", got)
	}
}

// Many pods of one day are not enough for a slot.
func TestProfileSlotOfOneDay(t *testing.T) {
	p := newProfile(t, profile.Config{})
	midnight := start.Truncate(24 * time.Hour)
	for i := range 20 {
		observe(t, p, midnight.Add(time.Duration(i)*time.Minute), window(fmt.Sprint("night", i), 1, 1e8))
		observe(t, p, midnight.Add(12*time.Hour).Add(time.Duration(i)*time.Minute), window(fmt.Sprint("noon", i), 1.6, 1e8))
	}
	if got := p.Demand(midnight, time.Minute).CPU.Amount; math.Abs(got-1.3) > .01 {
		t.Errorf("%v cores, want the day's 1.3", got)
	}
}

func TestRecommend(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 100 {
		for _, container := range []string{"", "app", "side"} {
			w := window("a", .5, 2e8)
			w.Container, w.Ended = container, false
			if container == "side" {
				w.CPU, w.MemoryPeak = .6, 3e7
			}
			if i == 50 && container == "app" {
				w.MemoryPeak = 5e8
			}
			observe(t, p, start.Add(time.Duration(i)*time.Minute), w)
		}
	}
	at := start.Add(100 * time.Minute)
	got, err := p.Recommend(at, profile.Seed(), profile.Bounds{Max: profile.Amounts{CPU: .55}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Container != "app" || got[1].Container != "side" {
		t.Fatalf("%+v", got)
	}
	app := got[0]
	// The bucket of ½ core ends at most 5 % and 10 millicores above; 15 % margin.
	if app.Uncapped.CPU < .575 || app.Uncapped.CPU > .62 || app.Target.CPU != .55 || math.Abs(app.Target.Memory-5.75e8) > 1 {
		t.Errorf("app: %+v", app)
	}
	for _, r := range got {
		if r.LowerBound.CPU > r.Target.CPU || r.UpperBound.CPU < r.Target.CPU ||
			r.LowerBound.Memory > r.Target.Memory || r.UpperBound.Memory < r.Target.Memory {
			t.Errorf("bounds around the target: %+v", r)
		}
	}
	for _, preset := range profile.Presets() {
		if err := preset.Validate(); err != nil {
			t.Error(err)
		}
	}
	_, err = p.Recommend(at, profile.Preset{CPU: profile.Rule{Percentile: 2}}, profile.Bounds{})
	refused(t, "Rule.Percentile", err)
	_, err = p.Recommend(at, profile.Preset{}, profile.Bounds{Min: profile.Amounts{CPU: 2}, Max: profile.Amounts{CPU: 1}})
	refused(t, "Bounds.Max.CPU", err)
}

func TestProfileRefuses(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for field, change := range map[string]func(*profile.Window){
		"Window.Pod":        func(w *profile.Window) { w.Pod = "" },
		"Window.Span":       func(w *profile.Window) { w.Span = 2 * time.Hour },
		"Window.Age":        func(w *profile.Window) { w.Age = -1 },
		"Window.Created":    func(w *profile.Window) { w.Created = time.Unix(1e10, 0) },
		"Window.CPU":        func(w *profile.Window) { w.CPU = math.NaN() },
		"Window.Stalled":    func(w *profile.Window) { w.Stalled = 1e9 },
		"Window.Throttled":  func(w *profile.Window) { w.Throttled = math.NaN() },
		"Window.MemoryPeak": func(w *profile.Window) { w.MemoryPeak = math.Inf(1) },
	} {
		w := window("a", 1, 1)
		change(&w)
		refused(t, field, p.Observe(start, w))
	}
	refused(t, "at", p.Observe(time.Time{}, window("a", 1, 1)))
	if d := p.Demand(start, 0); d != (profile.Demand{}) {
		t.Errorf("refused, and known: %+v", d)
	}
	for field, c := range map[string]profile.Config{
		"Config.cpuHalfLife": profile.Config{}.WithHalfLives(-1, 0, 0), "Config.memoryHalfLife": profile.Config{}.WithHalfLives(0, 1, 0),
		"Config.podHalfLife": profile.Config{}.WithHalfLives(0, 0, -1), "Config.Slots": {Slots: 25},
	} {
		_, err := profile.New(c)
		refused(t, field, err)
	}
	for field, c := range map[string]profile.HistoryConfig{
		"HistoryConfig.HalfLife": {HalfLife: -1}, "HistoryConfig.Slots": {Slots: -1},
	} {
		_, err := profile.NewHistory(c)
		refused(t, field, err)
	}
}

func ExampleProfile() {
	p, err := profile.New(profile.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for _, pod := range []string{"a", "b", "c"} {
		err := p.Observe(at, profile.Window{
			Pod: pod, Node: "n1",
			Usage: profile.Usage{Age: time.Minute, Span: time.Minute, CPU: 30, Stalled: 12, MemoryPeak: 3e8, Ended: true, Pressure: true},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	d := p.Demand(at, 0)
	fmt.Printf("%.1f cores, %.0f MB, confidence %.2f\n", d.CPU.Amount, d.Memory.Amount/1e6, d.CPU.Confidence)
	requests, err := p.Recommend(at, profile.Spazio(), profile.Bounds{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("request %.2f cores\n", requests[0].Target.CPU)
	// Output:
	// 0.7 cores, 300 MB, confidence 0.75
	// request 0.74 cores
}

func BenchmarkDemand(b *testing.B) {
	p := newProfile(b, profile.Config{})
	for i := range 100 {
		observe(b, p, start, window(fmt.Sprint(i), 1, 1e8))
	}
	b.ReportAllocs()
	for b.Loop() {
		if p.Demand(start, 0).CPU.Amount == 0 {
			b.Fatal("nothing known")
		}
	}
}

func TestDemandAllocatesNothing(t *testing.T) {
	p := newProfile(t, profile.Config{})
	observe(t, p, start, window("a", 1, 1e8))
	if n := testing.AllocsPerRun(100, func() { p.Demand(start, 7*time.Hour) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestYoungWorkload: a profile is uncertain of memory while nearly all its pods are young, because
// those that ended are the shortest. It is certain once one has run for ten seconds, or most have
// ended.
func TestYoungWorkload(t *testing.T) {
	short := func(i int) profile.Window {
		w := window(fmt.Sprint("short", i), 1, 1e8)
		w.Age, w.Span, w.CPU = 2*time.Second, 2*time.Second, 2
		return w
	}
	running := func(i int, age time.Duration, noCPU bool) profile.Window {
		w := window(fmt.Sprint("running", i), 1, 1e8)
		w.Age, w.Span, w.CPU, w.Ended = age, age, age.Seconds(), false
		if w.NoCPU = noCPU; noCPU {
			w.CPU, w.Pressure = 0, false
		}
		return w
	}
	const live = 40
	for _, test := range []struct {
		name   string
		ended  int
		oldest time.Duration
		noCPU  bool
		most   float64 // confidence in memory
	}{
		{"few ended, all young", 10, 4 * time.Second, false, .4},
		{"few ended, CPU not measured", 10, 4 * time.Second, true, .4},
		{"few ended, one ran for long", 10, 10 * time.Second, false, 1},
		{"one ran for long, CPU not measured", 10, 10 * time.Second, true, 1},
		{"most ended", live + 1, 4 * time.Second, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProfile(t, profile.Config{})
			for i := range test.ended {
				observe(t, p, start, short(i))
			}
			for i := range live {
				age := 4 * time.Second
				if i == 0 {
					age = test.oldest
				}
				observe(t, p, start, running(i, age, test.noCPU))
			}
			got := p.Demand(start, 0).Memory.Confidence
			if got > test.most+.01 || test.most == 1 && got < .85 {
				t.Errorf("confidence %v, want %v", got, test.most)
			}
			prior := profile.Demand{Memory: profile.Share{Amount: 1e8, Confidence: .7}}
			if err := p.SetPrior(prior); err != nil {
				t.Fatal(err)
			}
			if got := p.Demand(start, 0).Memory.Confidence; got < .69 {
				t.Errorf("with a prior of 0.7 the confidence is %v", got)
			}
		})
	}
}

// TestYoungRevision: the pods of a new revision are young, and the demand of the old revision still
// counts.
func TestYoungRevision(t *testing.T) {
	for _, age := range []time.Duration{4 * time.Second, time.Minute} {
		p := newProfile(t, profile.Config{})
		for i := range 10 {
			w := window(fmt.Sprint("old", i), 1, 1e8)
			w.Age, w.Span, w.CPU, w.Ended, w.Revision = age, age, age.Seconds(), false, "1"
			observe(t, p, start, w)
		}
		before := p.Demand(start, 0).Memory.Confidence
		w := window("new", 1, 1e8)
		w.Age, w.Span, w.CPU, w.Ended, w.Revision = time.Second, time.Second, 1, false, "2"
		observe(t, p, start.Add(age), w)
		got := p.Demand(start.Add(age), 0).Memory.Confidence
		if age < 10*time.Second && got > .2 || age > 10*time.Second && got < before/2 {
			t.Errorf("old pods of %v: got confidence %v after %v", age, got, before)
		}
	}
}
