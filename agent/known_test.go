package agent_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// certain returns a prediction without uncertainty.
func certain(cores, bytes float64) profile.Demand {
	return profile.Demand{CPU: profile.Share{Amount: cores, Confidence: 1}, Memory: profile.Share{Amount: bytes, Confidence: 1}}
}

// varied returns a certain prediction for pods that differ by standard deviations.
func varied(cores, coresSD, bytes, bytesSD float64) profile.Demand {
	d := certain(cores, bytes)
	d.CPU.SD, d.Memory.SD = coresSD, bytesSD
	return d
}

// startPod binds a pod with a predicted demand and runs it beside the others.
func (n *node) startPod(k reserve.PodKey, d profile.Demand) {
	n.t.Helper()
	n.p.Bound(n.at, agent.Bind{Pod: k, InitsKnown: true, Demand: d})
	n.podsNow = append(n.podsNow, k)
	n.list(n.podsNow...)
}

// reading returns a pod's usage at an age, with a constant number of cores since its start.
func reading(k reserve.PodKey, age time.Duration, cores float64, bytes uint64) agent.PodReading {
	return agent.PodReading{Pod: k, Age: age, CPU: time.Duration(cores * float64(age)), Memory: bytes, MemoryPeak: bytes}
}

// TestRoomsOfKnownPods follows a pod predicted to take 2 of 4 cores and 4 of 16 GB from its start to
// its end.
func TestRoomsOfKnownPods(t *testing.T) {
	n := newNode(t, config())
	n.samples(20, 0, 0)
	rooms := func(what string, cpu, memory float64) {
		t.Helper()
		r := n.last()
		if !near(r.Channels[0].Room, cpu, 1e-4) || !near(r.Channels[1].Room, memory, 1e-4) {
			t.Errorf("%s: got room %v of the CPU and %v of memory, want %v and %v", what, r.Channels[0].Room, r.Channels[1].Room, cpu, memory)
		}
	}
	rooms("empty", 1, 1)
	n.startPod(1, certain(2, 4e9))
	n.samples(1, 0, 0)
	rooms("before its load shows", .75, .75)
	for range 30 {
		n.samples(1, .25, .25)
	}
	rooms("as predicted", .75, .75)
	if r := n.last(); r.Channels[0].Capacity < .99 || !near(r.Avail, 3, .01) {
		t.Errorf("without other pods: got capacity %v and room for %v pods", r.Channels[0].Capacity, r.Avail)
	}
	n.p.Usage(n.at, []agent.PodReading{reading(1, time.Second, 3, 6e9)})
	for range 30 {
		n.samples(1, .25, .25)
	}
	rooms("half of the prediction and half of the measurement of the CPU, most of memory", 1-2.5/8, 1-6./16)
	n.p.Usage(n.at.Add(2*time.Second), []agent.PodReading{reading(1, 6*time.Second, 3, 1e9)})
	for range 30 {
		n.samples(1, .25, .25)
	}
	rooms("two thirds measured", 1-8./3/8, 1-6./16)
	for range 30 {
		n.samples(1, .6, .5)
	}
	rooms("what the usage leaves, if that is less", .4, .5)
	n.podsNow = nil
	n.list()
	n.samples(1, .6, .5)
	if r := n.last(); r.Channels[0].Room < .7 || r.Channels[1].Room < .8 {
		t.Errorf("at its end: got room %v of the CPU and %v of memory", r.Channels[0].Room, r.Channels[1].Room)
	}
	n.samples(20, .6, .5)
	if r := n.last(); !near(r.Channels[0].Room, .4, .05) || !near(r.Channels[1].Room, .5, .05) {
		t.Errorf("after its load decayed: got room %v of the CPU and %v of memory", r.Channels[0].Room, r.Channels[1].Room)
	}
}

// TestMemoryFades: the unused part of a pod's predicted memory halves every ten minutes, but the pod
// keeps the most that it was seen to use.
func TestMemoryFades(t *testing.T) {
	n := newNode(t, config())
	n.samples(20, 0, 0)
	n.startPod(1, certain(.1, 8e9))
	n.samples(20, .02, .05)
	n.p.Usage(n.at, []agent.PodReading{reading(1, 2*time.Second, .1, 1e9)})
	for age, want := range map[time.Duration]float64{0: .5, 10 * time.Minute: .25, 20 * time.Minute: .125, 50 * time.Minute: 1. / 16} {
		m := newNode(t, config())
		p, err := agent.FromState(n.p.Config(), n.p.State())
		if err != nil {
			t.Fatal(err)
		}
		m.p, m.at = p, n.at.Add(age)
		m.samples(10, .02, .05)
		if got := m.last().Channels[1].Room; !near(got, 1-want, .01) {
			t.Errorf("after %v: got room %v of memory, want %v", age, got, 1-want)
		}
	}
}

// TestCostOfUnpredictedPods: pods of a tenth of the CPU come and go beside predicted ones of four times
// that. With predictions the cost is that of the small pods; without, it is a mean of both.
func TestCostOfUnpredictedPods(t *testing.T) {
	cost := func(d profile.Demand) float64 {
		c := config()
		c.Homogeneous, c.NoCoreSlots = true, true
		n := newNode(t, c)
		rng := rand.New(rand.NewPCG(3, 14))
		small, large := 0, 0
		next := reserve.PodKey(1)
		for range 300 {
			switch rng.IntN(4) {
			case 0:
				if small < 5 {
					n.startPod(next<<1, profile.Demand{})
					small++
					next++
				}
			case 1:
				if large < 1 {
					n.startPod(next<<1|1, d)
					large++
					next++
				}
			default:
				if len(n.podsNow) > 0 {
					if k := n.podsNow[0]; k&1 == 1 {
						large--
					} else {
						small--
					}
					n.podsNow = n.podsNow[1:]
					n.list(n.podsNow...)
				}
			}
			load := .1*float64(small) + .4*float64(large)
			for range 30 {
				n.samples(1, min(max(load+.005*rng.NormFloat64(), 0), 1), .01)
			}
		}
		return n.last().Channels[0].Cost
	}
	if withPrediction := cost(profile.Demand{CPU: profile.Share{Amount: 3.2, Confidence: 1}}); !near(withPrediction, .1, .01) {
		t.Errorf("beside predicted pods: got cost %v, want .1", withPrediction)
	}
	if without := cost(profile.Demand{}); without < .13 {
		t.Errorf("beside unpredicted pods of .4: got cost %v", without)
	}
}

// TestAvailBesideKnownPods: a node reports its room in unpredicted pods; predicted pods take their own
// room from it.
func TestAvailBesideKnownPods(t *testing.T) {
	for _, test := range []struct {
		cores, want float64
	}{{.5, 4 - .25}, {2, 3}, {6, 1}} {
		n := newNode(t, config())
		n.samples(20, 0, 0)
		n.startPod(1, certain(test.cores, 1e6))
		for range 30 {
			n.samples(1, test.cores/8, 0)
		}
		if got := n.last(); !near(got.Avail-got.Allowance, test.want, .05) {
			t.Errorf("beside a pod of %v cores: got room for %v typical pods of a core, want %v", test.cores, got.Avail, test.want)
		}
	}
}

// TestUsageDoesNotChangeAvail: readings of pods without a prediction do not change what a scheduler
// uses.
func TestUsageDoesNotChangeAvail(t *testing.T) {
	run := func(read bool) (lines []string) {
		n := newNode(t, config())
		n.visit = func(r agent.Report) { lines = append(lines, exact(r)) }
		rng, noise := rand.New(rand.NewPCG(8, 8)), rand.New(rand.NewPCG(9, 9))
		for tick := range 600 {
			if tick%40 == 0 {
				n.pods(rng.IntN(6))
			}
			if read && tick%10 == 0 {
				for _, k := range n.podsNow {
					n.p.Usage(n.at, []agent.PodReading{reading(k, time.Duration(tick)*time.Second, noise.Float64(), 1e9)})
				}
			}
			load := .1 * float64(len(n.podsNow))
			n.samples(1, load, load)
		}
		return lines
	}
	without := run(false)
	if len(without) < 50 {
		t.Fatalf("only %d reports", len(without))
	}
	if d := cmp.Diff(without, run(true)); d != "" {
		t.Errorf("with readings (-without +with):\n%s", d)
	}
}

func TestMispredictions(t *testing.T) {
	for _, test := range []struct {
		name      string
		predicted profile.Demand
		readings  []agent.PodReading
		want      []agent.Misprediction
	}{
		{"as predicted", certain(1, 1e9), []agent.PodReading{reading(1, time.Minute, 1, 1e9)}, nil},
		{"no prediction", profile.Demand{}, []agent.PodReading{reading(1, time.Minute, 4, 9e9)}, nil},
		{
			"half as much again", certain(1, 1e9), []agent.PodReading{reading(1, time.Second, 1.5, 1e9)},
			[]agent.Misprediction{{Pod: 1, CPURatio: 1.5, MemoryRatio: 1}},
		},
		{"slightly less than half as much again", certain(1, 1e9), []agent.PodReading{reading(1, time.Second, 1.49, 1.49e9)}, nil},
		{
			"memory", certain(1, 1e9), []agent.PodReading{reading(1, time.Second, 1, 2e9)},
			[]agent.Misprediction{{Pod: 1, CPURatio: 1, MemoryRatio: 2}},
		},
		{"too young", certain(1, 1e9), []agent.PodReading{reading(1, 999*time.Millisecond, 4, 9e9)}, nil},
		{"less so far", certain(1, 1e9), []agent.PodReading{reading(1, 59*time.Second, .5, 1e8)}, nil},
		{
			"less after a minute", certain(1, 1e9), []agent.PodReading{reading(1, time.Minute, .5, 1e9)},
			[]agent.Misprediction{{Pod: 1, CPURatio: .5, MemoryRatio: 1}},
		},
		{
			"less at the end", certain(1, 1e9), []agent.PodReading{{Pod: 1, Age: 10 * time.Second, Ended: true, CPU: 10 * time.Second, MemoryPeak: 5e8}},
			[]agent.Misprediction{{Pod: 1, CPURatio: 1, MemoryRatio: .5}},
		},
		{"less at an early end", certain(1, 1e9), []agent.PodReading{{Pod: 1, Age: 9 * time.Second, Ended: true, CPU: time.Second, MemoryPeak: 5e8}}, nil},
		{
			"more at an early end", certain(1, 1e9), []agent.PodReading{{Pod: 1, Age: time.Second / 2, Ended: true, CPU: time.Second / 2, MemoryPeak: 2e9}},
			[]agent.Misprediction{{Pod: 1, CPURatio: 1, MemoryRatio: 2}},
		},
		{"less when it was killed", certain(1, 1e9), []agent.PodReading{{Pod: 1, Age: 30 * time.Second, Ended: true, OOMKills: 1, CPU: 30 * time.Second, MemoryPeak: 5e8}}, nil},
		{"too little to matter", certain(.01, 1e6), []agent.PodReading{reading(1, time.Second, .04, 9e6)}, nil},
		{"a container", certain(1, 1e9), []agent.PodReading{{Pod: 1, Container: 7, Age: time.Minute, CPU: time.Hour}}, nil},
		{"another pod", certain(1, 1e9), []agent.PodReading{reading(2, time.Minute, 4, 9e9)}, nil},
		{
			"waiting counts as demand", certain(1, 1e9), []agent.PodReading{{Pod: 1, Age: time.Second, CPU: time.Second, Stalled: time.Second, Pressure: true, MemoryPeak: 1e9}},
			[]agent.Misprediction{{Pod: 1, CPURatio: 2, MemoryRatio: 1}},
		},
		{
			"once a pod and resource", certain(1, 1e9), []agent.PodReading{reading(1, time.Second, 2, 2e9), reading(1, 2*time.Second, 4, 4e9)},
			[]agent.Misprediction{{Pod: 1, CPURatio: 2, MemoryRatio: 2}},
		},
		{
			"memory of a young pod, and then its CPU", certain(1, 1e9), []agent.PodReading{reading(1, time.Second, .5, 2e9), reading(1, 2*time.Second, 2, 4e9)},
			[]agent.Misprediction{{Pod: 1, MemoryRatio: 2}, {Pod: 1, CPURatio: 2}},
		},
		{
			"CPU, then memory, and then no more", certain(1, 1e9), []agent.PodReading{reading(1, time.Second, 2, 1e9), reading(1, 2*time.Second, 2, 2e9), reading(1, 3*time.Second, 9, 9e9)},
			[]agent.Misprediction{{Pod: 1, CPURatio: 2, MemoryRatio: 1}, {Pod: 1, MemoryRatio: 2}},
		},
		{"within two deviations", varied(1, .3, 1e9, 6e8), []agent.PodReading{reading(1, time.Second, 1.59, 2.19e9)}, nil},
		{
			"two deviations of CPU", varied(1, .3, 1e9, 6e8), []agent.PodReading{reading(1, time.Second, 1.6, 1e9)},
			[]agent.Misprediction{{Pod: 1, CPURatio: 1.6, MemoryRatio: 1}},
		},
		{
			"two deviations of memory", varied(1, .3, 1e9, 6e8), []agent.PodReading{reading(1, time.Second, 1, 2.25e9)},
			[]agent.Misprediction{{Pod: 1, CPURatio: 1, MemoryRatio: 2.25}},
		},
		{"two deviations, less than half as much again", varied(1, .1, 1e9, 1e8), []agent.PodReading{reading(1, time.Second, 1.4, 1.4e9)}, nil},
		{"less within two deviations", varied(1, .3, 1e9, 5e8), []agent.PodReading{reading(1, time.Minute, .5, 5e8)}, nil},
		{
			"two deviations less", varied(1, .25, 1e9, 5e8), []agent.PodReading{reading(1, time.Minute, .5, 5e8)},
			[]agent.Misprediction{{Pod: 1, CPURatio: .5, MemoryRatio: .5}},
		},
		{
			"more memory of a young pod, which may take more CPU yet", certain(1, 1e9), []agent.PodReading{reading(1, time.Second, .5, 2e9)},
			[]agent.Misprediction{{Pod: 1, MemoryRatio: 2}},
		},
		{"a pod older than the agent", certain(1, 1e9), []agent.PodReading{{Pod: 1, Age: time.Second, AgeUnknown: true, CPU: time.Hour, MemoryPeak: 1e9}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, config())
			n.samples(20, 0, 0)
			n.startPod(1, test.predicted)
			for i, r := range test.readings {
				n.p.Usage(n.at.Add(time.Duration(i)*time.Second), []agent.PodReading{r})
			}
			n.samples(10, 0, 0)
			if d := cmp.Diff(test.want, n.last().Mispredictions); d != "" {
				t.Errorf("surprises (-want +got):\n%s", d)
			}
			n.samples(60, 0, 0)
			if got := n.last().Mispredictions; got != nil {
				t.Errorf("six seconds later: got %v", got)
			}
		})
	}
}

// TestContradicts: a pod that was measured to take something else than was predicted of it contradicts
// another demand only if it would have been mispredicted by that, too, in the same direction.
func TestContradicts(t *testing.T) {
	unknown := profile.Demand{}
	for _, test := range []struct {
		name        string
		cpu, memory float64 // ratios
		now         profile.Demand
		want        bool
	}{
		{"the same demand", 1, 4, certain(1, 1e9), true},
		{"corrected", 1, 4, certain(1, 4e9), false},
		{"nearly corrected", 1, 4, certain(1, 2.7e9), false},
		{"not enough", 1, 4, certain(1, 2.6e9), true},
		{"too much now, which a pod that took more does not show", 1, 2, certain(1, 9e9), false},
		{"less, and corrected", 1, .25, certain(1, 3e8), false},
		{"less, and not corrected", 1, .25, certain(1, 4e8), true},
		{"the other resource", 3, 4, certain(1, 4e9), true},
		{"both corrected", 3, 4, certain(3, 4e9), false},
		{"within two deviations", 1, 4, varied(1, 0, 2e9, 1.1e9), false},
		{"two deviations", 1, 4, varied(1, 0, 2e9, 1e9), true},
		{"nothing known now", 1, 4, unknown, false},
		{"not measured", 0, 0, certain(1, 1e9), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := agent.Misprediction{Pod: 1, CPURatio: test.cpu, MemoryRatio: test.memory}
			if got := m.Contradicts(certain(1, 1e9), test.now); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if m.Contradicts(unknown, test.now) {
				t.Error("a pod of which nothing was predicted contradicts it")
			}
		})
	}
}

// TestMispredictionsAreBounded: a report has at most as many mispredictions as the wire format allows.
func TestMispredictionsAreBounded(t *testing.T) {
	n := newNode(t, config())
	n.samples(20, 0, 0)
	var readings []agent.PodReading
	for k := reserve.PodKey(1); k <= 2*agent.MaxMispredictions; k++ {
		n.p.Bound(n.at, agent.Bind{Pod: k, Demand: certain(1, 1e9)})
		n.podsNow = append(n.podsNow, k)
		readings = append(readings, reading(k, time.Second, 4, 1e9))
	}
	n.list(n.podsNow...)
	n.p.Usage(n.at, readings)
	n.samples(10, 0, 0)
	if got := len(n.last().Mispredictions); got != agent.MaxMispredictions {
		t.Errorf("%d mispredictions, want %d", got, agent.MaxMispredictions)
	}
}

func TestDemandOf(t *testing.T) {
	rules := reserve.Rules{}
	for _, test := range []struct {
		name string
		in   profile.Demand
		want reserve.Demand
	}{
		{"no prediction", profile.Demand{}, reserve.TypicalPod()},
		{"an amount without confidence", profile.Demand{CPU: profile.Share{Amount: 3}}, reserve.TypicalPod()},
		{
			"half confident", profile.Demand{
				CPU:    profile.Share{Amount: 2, SD: 1, Confidence: .5},
				Memory: profile.Share{Amount: 4e9, SD: 1e9, Confidence: .25},
			},
			reserve.Demand{
				Typical: [2]float64{.5, .75}, Amount: [2]float64{1, 1e9},
				Var: [2]float64{.5 * (1 + 1), .25 * (1e18 + 4e18)}, Cores: 2,
			},
		},
		{"memory alone", profile.Demand{Memory: profile.Share{Amount: 2, Confidence: 1}},
			reserve.Demand{Typical: [2]float64{1, 0}, Amount: [2]float64{0, 2}, Var: [2]float64{0, 1}}},
		{"low confidence", profile.Demand{CPU: profile.Share{Amount: 4, Confidence: .25}},
			reserve.Demand{Typical: [2]float64{.75, 1}, Amount: [2]float64{1, 0}, Var: [2]float64{1, 0}}},
		{"known to take nothing", profile.Demand{CPU: profile.Share{Confidence: 1}, Memory: profile.Share{Confidence: 1}},
			reserve.Demand{Amount: [2]float64{1e-6, 1}}},
		{"not a number", profile.Demand{CPU: profile.Share{Amount: math.NaN(), Confidence: 1}}, reserve.TypicalPod()},
	} {
		got := agent.DemandOf(test.in, rules)
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
	}
	huge := agent.DemandOf(profile.Demand{
		CPU: profile.Share{Amount: 1e9, SD: 1e9, Confidence: 1}, Memory: profile.Share{Amount: 1e30, SD: 1e30, Confidence: 1},
	}, rules)
	if err := huge.Validate(); err != nil {
		t.Errorf("more than any node has: got error %v", err)
	}
}

// TestStateOfKnownPods stops a pipeline amid predicted pods, readings and mispredictions; the restored
// pipeline reports the same.
func TestStateOfKnownPods(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 14))
	n := newNode(t, config())
	var keys []reserve.PodKey
	for tick := range 1500 {
		if tick%20 == 0 {
			k := reserve.PodKey(tick + 1)
			n.startPod(k, profile.Demand{
				CPU:    profile.Share{Amount: rng.Float64(), SD: .1, Confidence: rng.Float64()},
				Memory: profile.Share{Amount: 1e9 * rng.Float64(), SD: 1e8, Confidence: rng.Float64()},
			})
			keys = append(keys, k)
		}
		if tick%37 == 0 && len(n.podsNow) > 3 {
			n.podsNow = n.podsNow[1:]
			n.list(n.podsNow...)
		}
		if k := keys[rng.IntN(len(keys))]; tick%9 == 0 {
			n.p.Usage(n.at, []agent.PodReading{reading(k, time.Duration(1+rng.IntN(100))*time.Second, rng.Float64()*2, uint64(2e9*rng.Float64()))})
		}
		load := min(.05*float64(len(n.podsNow))+.01*rng.Float64(), 1)
		if tick%100 == 50 {
			p, err := agent.FromState(n.p.Config(), n.p.State())
			if err != nil {
				t.Fatal(err)
			}
			other := *n
			other.p, other.reports = p, nil
			before := len(n.reports)
			n.samples(10, load, load)
			other.samples(10, load, load)
			if d := cmp.Diff(n.reports[before:], other.reports); d != "" {
				t.Fatalf("tick %d: %s", tick, d)
			}
			continue
		}
		n.samples(1, load, load)
	}
	mispredicted := 0
	for _, r := range n.reports {
		mispredicted += len(r.Mispredictions)
		if s := r.Signal(); !(s.Rooms[0].Left <= 1) || !(s.Rooms[1].Left <= 1) || s.Rooms[0].Unit != 1./8 || s.Rest != (reserve.Room{}) {
			t.Fatalf("got signal %+v", s)
		}
	}
	if mispredicted == 0 {
		t.Error("no mispredictions")
	}
}

// TestSignalOfOtherChannels: if the scarcest channel is neither CPU nor memory, it bounds all pods.
func TestSignalOfOtherChannels(t *testing.T) {
	r := agent.Report{Avail: 3, Floored: true, Channels: []agent.ChannelReport{
		{Name: agent.CPU, Room: .5, StartupAllowance: .1, Unit: .125, Cost: .2, CostSD: .05, Most: .9},
		{Name: agent.Memory, Room: .6, Unit: 1e-9, Cost: .1, PodSD: .3, Most: .8},
		{Name: "disk", Room: .4, Cost: .1, Most: 1},
		{Name: "network", Room: .3, Cost: .1, CostSD: .1, StartupAllowance: .05, Most: 1},
		{Name: "pids", Room: .9, Cost: .1, Most: 1},
	}}
	s := r.Signal()
	want := reserve.Signal{
		Avail: 3, Floored: true, MemoryRoom: s.MemoryRoom,
		Rooms: [2]reserve.Room{
			{Left: .5, StartupAllowance: .1, Unit: .125, Cost: .25, Most: .9},
			{Left: .6, Unit: 1e-9, Cost: .1, SD: .3, Most: .8},
		},
		Rest: reserve.Room{Left: .3, StartupAllowance: .05, Cost: .2, Most: 1},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
