package sim_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

const gib = 1 << 30

// alike returns that many pods of one workload, all at once.
func alike(n int, p sim.Pod) []sim.Pod {
	pods := make([]sim.Pod, n)
	for i := range pods {
		pods[i] = p
		pods[i].Workload = "alike"
	}
	return pods
}

func counting(p sim.Profiles) sim.Spazio {
	p.On = true
	return sim.Spazio{Profiles: p}
}

// TestKnownMemory: of pods known to take 4 of a node's 16 GiB three fit beside the system's 0.8:
// the third needs a quarter of the memory and, because it may take half as much again, an eighth,
// of the remaining 0.45; a fourth 0.375 of 0.2.
func TestKnownMemory(t *testing.T) {
	pods := alike(40, sim.Pod{Work: 2, Cores: .1, Memory: 4 * gib, Ramp: 5})
	r := run(t, sim.Config{Nodes: 1, Scheduler: counting(sim.Profiles{Known: 1}), Seed: 1}, pods)
	if r.Most != 3 || kills(r) != 0 {
		t.Errorf("known: %d at once, %d killed", r.Most, kills(r))
	}
	if r := run(t, sim.Config{Nodes: 1, Scheduler: counting(sim.Profiles{Known: .5}), Seed: 1}, pods); r.Most <= 3 {
		t.Errorf("known to take half of that: %d at once", r.Most)
	}
	if r := run(t, sim.Config{Nodes: 1, Scheduler: sim.Spazio{}, Seed: 1}, pods); r.Most <= 3 || kills(r) == 0 {
		t.Errorf("without profiles: %d at once, %d killed", r.Most, kills(r))
	}
}

// TestKnownCPU: a core is an eighth of the CPU's channel, half of which is waiting. Known pods fill
// 5.35 of 8 by default: five, as many as without profiles. Filled to 1.7 a core it is six, because
// seven are 0.875; filled to 2 it is seven, because eight leave nothing to the system.
func TestKnownCPU(t *testing.T) {
	pods := alike(40, sim.Pod{Work: 60})
	for _, c := range []struct {
		fill float64
		most int
	}{{0, 5}, {1.7, 6}, {2, 7}} {
		s := counting(sim.Profiles{Known: 1})
		s.Rules.CPUDemandPerCore = c.fill
		if r := run(t, sim.Config{Nodes: 1, Scheduler: s, Seed: 1}, pods); r.Most != c.most {
			t.Errorf("fill %g: %d at once, want %d", c.fill, r.Most, c.most)
		}
	}
}

func kills(r sim.Result) (n int) {
	for _, record := range r.Records {
		n += record.Kills
	}
	return n
}

// TestFirstReading: a workload's demand counts from its first pod's first reading and the way to
// the scheduler on, and not before.
func TestFirstReading(t *testing.T) {
	var pods []sim.Pod
	for i := range 40 {
		pods = append(pods, sim.Pod{Created: float64(i) / 4, Work: 10, Cores: .1, Memory: gib, Workload: "w"})
	}
	for _, p := range []sim.Profiles{{}, {First: 3}, {Delay: 5}} {
		r := run(t, sim.Config{Nodes: 3, Scheduler: counting(p), Seed: 1}, pods)
		first, delay := 1., 2.
		if p.First > 0 {
			first = p.First
		}
		if p.Delay > 0 {
			delay = p.Delay
		}
		known := r.Records[0].Running + first + delay
		for i, record := range r.Records {
			if math.Abs(record.Bound-known) < .05 {
				continue // what takes milliseconds decides
			}
			if got, want := record.Expected != (profile.Demand{}), record.Bound > known; got != want {
				t.Errorf("%+v: pod %d bound at %g: known %v, the first price is of %g", p, i, record.Bound, got, known)
			}
		}
		last := r.Records[len(pods)-1].Expected
		if last.CPU.Amount < .1-1e-9 || last.CPU.Amount > .11 || last.Memory.Amount < gib || last.Memory.Amount > 1.1*gib {
			t.Errorf("%+v: at last %+v is expected of a tenth of a core and a GiB", p, last)
		}
	}
}

// named returns the pods of mixed workloads.
func named(pods []sim.Pod) []sim.Pod {
	for i := range pods {
		if p := &pods[i]; p.Server.Rate == 0 {
			p.Workload = fmt.Sprintf("%g cores, %g bytes", p.Cores, p.Memory)
		}
	}
	return pods
}

// TestProfilesOff: without profiles, or without named pods, every decision is as if there were
// none.
func TestProfilesOff(t *testing.T) {
	for seed := range uint64(3) {
		c := sim.Config{Nodes: 5, Scheduler: sim.Spazio{}, Seed: seed}
		want := run(t, c, mixed(seed, 150))

		c.Scheduler = sim.Spazio{Profiles: sim.Profiles{Known: 3, First: 2, Scalar: true}}
		got := run(t, c, named(mixed(seed, 150)))
		if d := cmp.Diff(want.Records, got.Records); d != "" {
			t.Fatalf("off, seed %d (-without +with):\n%s", seed, d)
		}
		c.Scheduler = counting(sim.Profiles{})
		got = run(t, c, mixed(seed, 150))
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("nobody has a name, seed %d (-without +with):\n%s", seed, d)
		}
	}
}

func TestProfilesConserve(t *testing.T) {
	seeds := uint64(2)
	if testing.Short() {
		seeds = 1
	}
	for _, s := range []sim.Scheduler{
		counting(sim.Profiles{}), counting(sim.Profiles{Scalar: true}), counting(sim.Profiles{Known: .2}), counting(sim.Profiles{Known: 5, Frozen: true}),
		counting(sim.Profiles{Snapshot: true, Usage: true}), sim.Recommended{}, sim.Recommended{Preset: profile.VPA()},
	} {
		for seed := range seeds {
			for _, overcommit := range []node.Overcommit{node.Swap, node.Kill} {
				pods := named(mixed(seed, 150))
				conserved(t, run(t, sim.Config{Nodes: 5, Node: node.Params{Overcommit: overcommit}, Scheduler: s, Seed: seed}, pods), overcommit)
			}
		}
	}
}

// apart returns pods of ten very different workloads.
func apart(seed uint64, n int) []sim.Pod {
	rng := rand.New(rand.NewPCG(seed, 7))
	var kinds []sim.Pod
	for i := range 10 {
		kinds = append(kinds, sim.Pod{Workload: fmt.Sprint(i), Cores: .05 * math.Pow(20, rng.Float64()), Memory: .05 * math.Pow(100, rng.Float64()) * gib, Ramp: 2})
	}
	pods := make([]sim.Pod, n)
	for i := range pods {
		pods[i] = kinds[rng.IntN(len(kinds))]
		pods[i].Work, pods[i].Startup = 15*pods[i].Cores, node.StartupLatency(rng)
	}
	return pods
}

// over sums the node-seconds over memory, and the mean sojourn, over a few seeds.
func over(t *testing.T, s sim.Spazio) (overload, sojourn float64) {
	t.Helper()
	for seed := range uint64(12) {
		r := run(t, sim.Config{Nodes: 6, Node: node.Params{Overcommit: node.Swap}, Scheduler: s, Seed: seed}, apart(seed, 400))
		overload += r.Overcommitted
		sojourn += metric(t, r, "sojourn_mean") / 12
	}
	return overload, sojourn
}

// Each part of scheduling by profiles has its effect: without it pods wait longer or nodes exceed
// their memory.
func TestPartsOfProfiles(t *testing.T) {
	overload, sojourn := over(t, counting(sim.Profiles{}))
	worse := func(name string, s sim.Spazio, sojournBy, overloadBy float64) {
		t.Helper()
		o, w := over(t, s)
		t.Logf("%s: %.1f s, %.0f node s; with it %.1f, %.0f", name, w, o, sojourn, overload)
		if w < sojourn*sojournBy || o < overload*overloadBy {
			t.Errorf("%s: sojourn %.1f s, %.0f node s over memory; with it %.1f, %.0f", name, w, o, sojourn, overload)
		}
	}
	worse("without profiles", sim.Spazio{}, 1.1, 1)
	if testing.Short() {
		return
	}
	worse("one number a pod", counting(sim.Profiles{Scalar: true}), 1.02, 0)
	worse("read late", counting(sim.Profiles{First: 10}), 1, 0)
	narrow := counting(sim.Profiles{})
	narrow.Rules.Spread = 1e-6
	worse("no spread", narrow, 0, 1.2)
	// Correct initial demands need no update; wrong ones do.
	overload, sojourn = over(t, counting(sim.Profiles{Known: .2}))
	worse("not repriced", counting(sim.Profiles{Known: .2, Snapshot: true}), 1.02, 1)
}

// TestWrongProfile: a profile that always has half of the true demand is dropped when three nodes
// were mispredicted; two are not enough.
func TestWrongProfile(t *testing.T) {
	for _, c := range []struct {
		nodes    int
		profiles sim.Profiles
		dropped  bool
	}{
		{3, sim.Profiles{Known: .5, Frozen: true}, true},
		{2, sim.Profiles{Known: .5, Frozen: true}, false},
		{3, sim.Profiles{Known: .5, Frozen: true, AlwaysTrusted: true}, false},
		{3, sim.Profiles{Known: 1, Frozen: true}, false},
	} {
		var pods []sim.Pod
		for i := range 60 {
			pods = append(pods, sim.Pod{Created: float64(i), Work: 1, Cores: .1, Memory: 3 * gib, Workload: "w"})
		}
		r := run(t, sim.Config{Nodes: c.nodes, Scheduler: counting(c.profiles), Seed: 1}, pods)
		if r.Records[0].Expected == (profile.Demand{}) {
			t.Errorf("%+v: nothing known of the first pod", c)
		}
		if got := r.Records[59].Expected == (profile.Demand{}); got != c.dropped {
			t.Errorf("%+v: dropped %v", c, got)
		}
	}
	// The profiler's later profile is newer, and trusted again.
	var pods []sim.Pod
	for i := range 60 {
		pods = append(pods, sim.Pod{Created: float64(i), Work: 1, Cores: .1, Memory: 3 * gib, Workload: "w"})
	}
	r := run(t, sim.Config{Nodes: 3, Scheduler: counting(sim.Profiles{Known: .5}), Seed: 1}, pods)
	if last := r.Records[59].Expected.Memory.Amount; last < 3*gib || last > 3.3*gib {
		t.Errorf("corrected: %g expected of 3 GiB", last)
	}
}

// TestRecommended: the thesis's recommender makes pods request their peak memory and 15 %: of the
// 15.2 GiB that are not the system's 13 times 1.15 fit. One that learns knows nothing of the first
// pods.
func TestRecommended(t *testing.T) {
	pod := sim.Pod{Work: 1, Cores: .05, Memory: gib}
	clairvoyant := sim.Recommended{Preset: profile.Seed(), Profiles: sim.Profiles{Known: 1, Frozen: true}}
	if r := run(t, sim.Config{Nodes: 1, Scheduler: clairvoyant, Seed: 1}, alike(60, pod)); r.Most != 13 || kills(r) > 0 {
		t.Errorf("who knows all: %d at once, %d killed", r.Most, kills(r))
	}
	learning := sim.Recommended{Preset: profile.Seed()}
	if r := run(t, sim.Config{Nodes: 1, Scheduler: learning, Seed: 1}, alike(60, pod)); r.Most <= 13 {
		t.Errorf("who learns: %d at once", r.Most)
	}
	pods := alike(61, pod)
	for i := range pods[1:] {
		pods[1+i].Created = 100
	}
	if r := run(t, sim.Config{Nodes: 1, Scheduler: learning, Seed: 1}, pods); r.Most != 13 {
		t.Errorf("who has seen one pod end: %d at once", r.Most)
	}
	// No recommendation exceeds a node.
	if r := run(t, sim.Config{Nodes: 1, Scheduler: clairvoyant, Seed: 1}, alike(3, sim.Pod{Work: 1, Memory: 15 * gib})); r.Most != 1 || metric(t, r, "unfinished") > 0 {
		t.Errorf("of 15 GiB: %d at once, %g unfinished", r.Most, metric(t, r, "unfinished"))
	}
}

// TestDemandMetrics: there are ten pods, the largest by its memory, two known ones, and their usage
// over the predicted one.
func TestDemandMetrics(t *testing.T) {
	r := sim.Result{Cores: 40, Memory: 1000, Nodes: 10, Span: 100, End: 100}
	for i := range 11 {
		p := sim.Pod{Work: 1, Cores: .5, Memory: 10, Workload: "w"}
		record := sim.Record{Node: 0, Bound: float64(i), Running: float64(i), Done: 100}
		switch i {
		case 3: // a tenth of the memory
			p.Memory, p.Created = 100, 1
			record.Expected.Memory = profile.Share{Amount: 50, Confidence: .5}
		case 5: // less of the cores
			p.Cores = 2
			record.Expected.CPU = profile.Share{Amount: 8, Confidence: 1}
		case 10:
			p.Workload = ""
		}
		r.Pods, r.Records = append(r.Pods, p), append(r.Records, record)
	}
	for name, want := range map[string]float64{
		"wait_largest_tenth": 2, "profiled": .2, "cpu_ratio_p50": .25, "memory_ratio_p90": 2, "memory_ratio_p10": 2,
	} {
		if got := metric(t, r, name); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s = %g, want %g", name, got, want)
		}
	}
}

// TestLargestAlike: of pods of one size none is larger because it came first, and each of those as
// large as the smallest of the tenth counts in part.
func TestLargestAlike(t *testing.T) {
	for _, test := range []struct {
		name  string
		large []int // pods of twice the others' cores
		want  float64
	}{
		{"all of one size", nil, 14.5},
		{"all of the tenth larger", []int{7, 20, 29}, (7 + 20 + 29) / 3.},
		{"one larger, and two of 29 alike", []int{29}, (29 + 2*14.) / 3},
		{"three of four that are", []int{0, 10, 20, 26}, 14},
	} {
		r := sim.Result{Cores: 40, Memory: 1000, Nodes: 10, Span: 100, End: 100}
		for i := range 30 {
			p := sim.Pod{Work: 1, Cores: .5, Memory: 1, Workload: "w"}
			if slices.Contains(test.large, i) {
				p.Cores = 1
			}
			r.Pods = append(r.Pods, p)
			r.Records = append(r.Records, sim.Record{Node: 0, Bound: float64(i), Running: float64(i), Done: 100})
		}
		if got := metric(t, r, "wait_largest_tenth"); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", test.name, got, test.want)
		}
	}
}

// TestDays: in days of 400 s, in whose second half pods take twice the memory, a profiler that
// distinguishes the halves predicts the demand of the third day's pods, and one that does not
// predicts a value between.
func TestDays(t *testing.T) {
	var pods []sim.Pod
	for i := range 1200 {
		p := sim.Pod{Created: float64(i), Work: 1, Cores: .1, Memory: gib, Workload: "w"}
		if i%400 >= 200 {
			p.Memory *= 1.5
		}
		pods = append(pods, p)
	}
	for _, slots := range []int{1, 2} {
		s := counting(sim.Profiles{Day: 400, Config: profile.Config{Slots: slots}})
		r := run(t, sim.Config{Nodes: 4, Scheduler: s, Seed: 1}, pods)
		off := 0
		for i := 800; i < 1200; i++ {
			predicted := r.Records[i].Expected.Memory.Amount / pods[i].Memory
			if predicted < .95 || predicted > 1.15 {
				off++
			}
		}
		// Pods may live across the middle of the day, and updates of demands take seconds.
		if apart := slots == 2; apart && off > 80 || !apart && off < 200 {
			t.Errorf("%d slots: %d of 400 pods are expected to take something else than they do", slots, off)
		}
	}
}

func TestProfilesRefuse(t *testing.T) {
	for _, p := range []sim.Profiles{
		{First: -1}, {Delay: math.NaN()}, {Day: -1}, {Day: 59}, {Known: math.Inf(1)}, {Frozen: true},
		{Config: profile.Config{Slots: 25}},
	} {
		_, err := sim.Run(t.Context(), sim.Config{Scheduler: counting(p)}, nil)
		var own *field.Error
		var config *field.Error
		if !errors.As(err, &own) && !errors.As(err, &config) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	bad := profile.Seed()
	bad.CPU.Percentile = 2
	if _, err := sim.Run(t.Context(), sim.Config{Scheduler: sim.Recommended{Preset: bad}}, nil); err == nil {
		t.Error("a percentile of 2 was taken")
	}
	s := counting(sim.Profiles{})
	s.Rules.Spread = -1
	if _, err := sim.Run(t.Context(), sim.Config{Scheduler: s}, nil); !errors.Is(err, reserve.ErrInvalid) {
		t.Errorf("spread −1: %v", err)
	}
}

// sojourns returns the sums of the times from the pods' creation to their end without profiles and
// with them.
func sojourns(t *testing.T, c sim.Config, pods []sim.Pod) (plain, known float64) {
	t.Helper()
	sum := func(s sim.Scheduler) (sum float64) {
		c.Scheduler = s
		for i, record := range run(t, c, pods).Records {
			sum += record.Done - pods[i].Created
		}
		return sum
	}
	return sum(sim.Spazio{}), sum(counting(sim.Profiles{}))
}

// TestShortLives: pods of a core-second take much of that again to start and to stop. If they come
// faster than nodes take them, on nodes of few cores and of many, profiles cost nothing, because
// such pods count as typical.
func TestShortLives(t *testing.T) {
	for _, c := range []struct {
		nodes, cores int
		duration     float64
	}{{6, 4, 150}, {2, 16, 60}, {1, 64, 30}} {
		plain, known := 0., 0.
		for seed := range uint64(2) {
			pods, err := workload.Poisson(seed+1, .8, float64(c.nodes*c.cores), 1, c.duration, workload.Equal)
			if err != nil {
				t.Fatal(err)
			}
			for i := range pods {
				pods[i].Workload = "alike"
			}
			p, k := sojourns(t, sim.Config{
				Nodes: c.nodes, Node: node.Params{Cores: c.cores}, KubeletRate: 2.5 * float64(c.cores), Seed: seed + 1,
			}, pods)
			plain, known = plain+p, known+k
		}
		if known > 1.02*plain {
			t.Errorf("nodes of %d cores: counted by what is known, pods are there for %.3f of the time", c.cores, known/plain)
		}
	}
}
