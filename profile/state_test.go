package profile_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
)

// randomWindow returns one of some pod of some node.
func randomWindow(r *rand.Rand, pods, nodes int) profile.Window {
	pod := r.IntN(pods)
	w := profile.Window{
		Pod: fmt.Sprint("pod-", pod), Node: fmt.Sprint("node-", pod%nodes), Revision: "one",
		Usage: profile.Usage{
			Age: time.Duration(1+r.IntN(7200)) * time.Second, Span: time.Minute, CPU: 60 * (.9 + .2*r.Float64()),
			Stalled: 3 * r.Float64(), Memory: 1e8 * (.8 + .2*r.Float64()), MemoryPeak: 1.05e8, Ended: r.IntN(6) == 0,
			Periods: 600, ThrottledPeriods: uint32(r.IntN(60)), Pressure: true,
		},
	}
	if r.IntN(3) == 0 {
		w.Demand = []profile.DemandTime{{Bucket: uint32(r.IntN(30)), Millis: 20000}, {Bucket: uint32(31 + r.IntN(20)), Millis: 39999}}
	}
	return w
}

func restored(t testing.TB, c profile.Config, state []byte) *profile.Profile {
	t.Helper()
	p, err := profile.Restore(c, state)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A restored profile returns the same as the stored one, and learns in the same way.
func TestStateRoundTrip(t *testing.T) {
	for _, c := range []profile.Config{{}, {Slots: 1}, profile.Config{Slots: 24, Zone: time.FixedZone("east", 3600)}.WithHalfLives(time.Hour, 0, 0)} {
		r := rand.New(rand.NewPCG(3, 1))
		p := newProfile(t, c)
		if err := p.SetPrior(profile.Demand{CPU: profile.Share{Amount: 2, SD: .2, Confidence: .5}}); err != nil {
			t.Fatal(err)
		}
		at := start
		step := func(p *profile.Profile, w profile.Window) {
			observe(t, p, at, w)
			w.Container = "app"
			w.OOMKills = uint32(w.Age.Seconds()) % 50 / 49
			observe(t, p, at, w)
		}
		for range 2000 {
			at = at.Add(3 * time.Minute)
			step(p, randomWindow(r, 12, 4))
		}
		q := restored(t, c, p.State())
		compareProfiles(t, "at once", p, q, at)
		for range 200 {
			at = at.Add(time.Minute)
			w := randomWindow(r, 12, 4)
			step(p, w)
			step(q, w)
		}
		compareProfiles(t, "later", p, q, at)
	}
}

func compareProfiles(t *testing.T, what string, p, q *profile.Profile, at time.Time) {
	t.Helper()
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) })
	for hours := range 24 {
		for _, lives := range []time.Duration{0, time.Minute, 8 * time.Hour} {
			at := at.Add(time.Duration(hours) * time.Hour)
			if d := cmp.Diff(p.Demand(at, lives), q.Demand(at, lives), near); d != "" {
				t.Fatalf("%s: demand for %v (-stored +restored):\n%s", what, lives, d)
			}
		}
	}
	// Means have weights in 65,535 steps; percentiles are buckets' ends, and equal.
	nearly := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-4*max(math.Abs(a), math.Abs(b)) })
	for _, preset := range profile.Presets() {
		a, err := p.Recommend(at, preset, profile.Bounds{})
		b, err2 := q.Recommend(at, preset, profile.Bounds{})
		if d := cmp.Diff(a, b, nearly); d != "" || err != nil || err2 != nil {
			t.Errorf("%s: %s (-stored +restored):\n%s %v %v", what, preset.Name, d, err, err2)
		}
	}
	type words struct {
		Revision        string
		Restarts        int
		Kills           uint64
		Throttled       float64
		Median, P90     time.Duration
		CPUPods, MemPod float64
	}
	say := func(p *profile.Profile) words {
		cpu, memory := p.Evidence()
		return words{p.Revision(), p.Restarts(), p.OOMKills(), p.Throttled(), p.Lifetime(.5), p.Lifetime(.9), cpu.Pods, memory.Pods}
	}
	if d := cmp.Diff(say(p), say(q), near); d != "" {
		t.Errorf("%s (-stored +restored):\n%s", what, d)
	}
}

// With any number of pods, nodes and values a container takes 8 KiB.
func TestStateIsSmall(t *testing.T) {
	p := newProfile(t, profile.Config{})
	at := start
	for i := range 6000 {
		at = at.Add(30 * time.Second)
		w := window(fmt.Sprint(i%1500), .01*math.Pow(1.07, float64(i%176)), 1e7*math.Pow(1.07, float64(i%176)))
		w.Node, w.Ended, w.Revision = fmt.Sprint(i%700), i%2 == 0, "a-revision-with-a-name-of-some-length"
		w.Age = time.Duration(1+i) * time.Minute
		observe(t, p, at, w)
	}
	state := p.State()
	if len(state) > 8<<10 {
		t.Errorf("%d bytes", len(state))
	}
	q := restored(t, profile.Config{}, state)
	cpu, memory := p.Evidence()
	cpu2, memory2 := q.Evidence()
	if math.Abs(cpu.Mean-cpu2.Mean) > .05*cpu.Mean || math.Abs(memory.Mean-memory2.Mean) > .05*memory.Mean {
		t.Errorf("%v and %v, restored %v and %v", cpu.Mean, memory.Mean, cpu2.Mean, memory2.Mean)
	}
}

// Storing a profile changes nothing in it.
func TestStateLeavesTheProfile(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 60 {
		w := window(fmt.Sprint(i), 1+float64(i%7)/10, 1e8+1e6*float64(i))
		w.Ended, w.Node = i > 40, fmt.Sprint("n", i%30)
		observe(t, p, start.Add(time.Duration(i)*time.Second), w)
	}
	before := p.Demand(start, 0)
	first := p.State()
	if d := cmp.Diff(first, p.State()); d != "" {
		t.Error("the second state is another")
	}
	observe(t, p, start.Add(time.Hour), window("another", 9, 1e9)) // a doubt, so that prices are made anew
	after := p.Demand(start, 0)
	if math.Abs(after.CPU.Amount-before.CPU.Amount) > 1e-9 || math.Abs(after.CPU.Confidence-before.CPU.Confidence) > 1e-9 {
		t.Errorf("%+v, and before %+v", after, before)
	}
}

// State only reads the profile, so that several goroutines can store it at once.
func TestStateOnlyReads(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 100 { // more live pods than a state keeps
		w := window(fmt.Sprint(i), 1+float64(i%7)/10, 1e8+1e6*float64(i%50))
		w.Node, w.Ended = fmt.Sprint("n", i%30), false
		observe(t, p, start.Add(time.Duration(i)*time.Second), w)
	}
	want := p.State()
	var both sync.WaitGroup
	for range 2 {
		both.Add(1)
		go func() {
			defer both.Done()
			for range 20 {
				if !bytes.Equal(want, p.State()) {
					t.Error("a state that is stored beside another differs")
				}
			}
		}()
	}
	both.Wait()
}

// Pods out of order would not be found again.
func TestRestoreRefusesDisorder(t *testing.T) {
	p := newProfile(t, profile.Config{})
	key := func(name string) []byte {
		h := fnv.New64a()
		h.Write([]byte(name))
		return h.Sum(nil)
	}
	for _, node := range []string{"a", "b"} {
		w := window("pod", 1, 1e8)
		w.Node, w.Ended = node, false
		observe(t, p, start, w)
	}
	state := p.State()
	i, j := bytes.Index(state, key("a")), bytes.Index(state, key("b"))
	i, j = min(i, j), max(i, j)
	size := j - i
	if i < 0 || j+size > len(state) {
		t.Fatalf("pods at %d and %d", i, j)
	}
	swapped := slices.Concat(state[:i], state[j:j+size], state[i:j], state[j+size:])
	twice := slices.Concat(state[:j], state[i:j], state[j+size:])
	for _, state := range [][]byte{swapped, twice} {
		_, err := profile.Restore(profile.Config{}, state)
		refused(t, "state.live", err)
	}
}

// Outliers survive a restart: three in a row are three, wherever it falls.
func TestStateKeepsOutliers(t *testing.T) {
	for restart := range 4 {
		p := newProfile(t, profile.Config{})
		for i := range 9 {
			observe(t, p, start, window(fmt.Sprint("old", i), .5, 1e8))
		}
		for i := range 3 {
			if i == restart {
				p = restored(t, profile.Config{}, p.State())
			}
			w := window(fmt.Sprint("new", i), 2, 1e8)
			w.Ended = i != 1
			observe(t, p, start, w)
		}
		if d := p.Demand(start, 0).CPU; math.Abs(d.Amount-2) > 1e-9 || math.Abs(d.Confidence-.75) > 1e-9 || p.Restarts() != 1 {
			t.Errorf("a restart before the contradiction %d: %+v after %d restarts", restart, d, p.Restarts())
		}
		// The one of them that lives on is still one.
		observe(t, p, start, window("new1", 2, 1e8))
		if cpu, _ := p.Evidence(); math.Abs(cpu.Pods-3) > 1e-9 {
			t.Errorf("a restart before the contradiction %d: %v pods", restart, cpu.Pods)
		}
	}
}

func TestRestoreUnderAnotherConfig(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 9 {
		observe(t, p, start, window(fmt.Sprint(i), 1.5, 1e8))
	}
	for name, c := range map[string]profile.Config{
		"slots": {Slots: 24}, "zone": {Zone: time.FixedZone("east", 3600)}, "half-life": profile.Config{}.WithHalfLives(time.Hour, 0, 0), "pods'": profile.Config{}.WithHalfLives(0, 0, time.Hour),
	} {
		q := restored(t, c, p.State())
		demandNear(t, name, q.Demand(start, 0), p.Demand(start, 0))
		observe(t, q, start, window("more", 1.5, 1e8))
		if got := q.Demand(start, 0).CPU; math.Abs(got.Confidence-10./11) > 1e-9 {
			t.Errorf("%s: %+v of ten pods", name, got)
		}
	}
}

// Pods without a measure of waiting have half the confidence under any configuration.
func TestRestoreUnstalled(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 9 {
		w := window(fmt.Sprint(i), 1, 1e8)
		w.Pressure = false
		observe(t, p, start, w)
	}
	for _, c := range []profile.Config{{}, {Slots: 1}} {
		if d := restored(t, c, p.State()).Demand(start, 0); d.CPU.Confidence != .5 || math.Abs(d.Memory.Confidence-.9) > 1e-9 {
			t.Errorf("%d slots: %+v", c.Slots, d)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i := range 40 {
		w := window(fmt.Sprint(i), 1+float64(i%7)/10, 1e8)
		w.Ended = i%2 == 0
		observe(t, p, start, w)
	}
	state := p.State()
	for n := range state {
		if _, err := profile.Restore(profile.Config{}, state[:n]); !errors.Is(err, profile.ErrInvalid) {
			t.Fatalf("%d of %d bytes: %v", n, len(state), err)
		}
	}
	if _, err := profile.Restore(profile.Config{}, append(state[:len(state):len(state)], 0)); !errors.Is(err, profile.ErrInvalid) {
		t.Errorf("a byte more: %v", err)
	}
	later := append([]byte{profile.StateVersion + 1}, state[1:]...)
	_, err := profile.Restore(profile.Config{}, later)
	if !errors.Is(err, profile.ErrVersion) {
		t.Errorf("a later version: %v", err)
	}
	refused(t, "Config.Slots", func() error { _, err := profile.Restore(profile.Config{Slots: 25}, state); return err }())
}

func FuzzRestore(f *testing.F) {
	p := newProfile(f, profile.Config{Slots: 2})
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		w := randomWindow(r, 6, 3)
		w.OOMKills = uint32(i % 100 / 99)
		observe(f, p, start.Add(time.Duration(i)*time.Minute), w)
	}
	f.Add(p.State())
	f.Add(newProfile(f, profile.Config{}).State())
	f.Fuzz(func(t *testing.T, state []byte) {
		c := profile.Config{Slots: 2}
		p, err := profile.Restore(c, state)
		if err != nil {
			if !errors.Is(err, profile.ErrInvalid) && !errors.Is(err, profile.ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		for range 2 {
			if err := p.Demand(start, 0).Validate(); err != nil {
				t.Fatal(err)
			}
			for _, preset := range profile.Presets() {
				all, err := p.Recommend(start, preset, profile.Bounds{})
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range all {
					if v := one.Target; !(v.CPU >= 0) || !(v.Memory >= 0) || math.IsInf(v.CPU, 1) || math.IsInf(v.Memory, 1) {
						t.Fatalf("%s: %+v", preset.Name, one)
					}
				}
			}
			if s := p.Throttled(); !(s >= 0) || s > 1 {
				t.Fatal(s)
			}
			p = restored(t, c, p.State())
			w := window("pod", 1, 1e8)
			w.Ended = false
			observe(t, p, start, w)
			p.Gone("pod")
		}
	})
}
