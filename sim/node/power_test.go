package node_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/node"
)

func TestPowerAt(t *testing.T) {
	for _, test := range []struct {
		name    string
		power   node.Power
		u, want float64
	}{
		{"none", node.Power{}, 1, 0},
		{"idle", node.Power{Idle: 40, Max: 120}, 0, 40},
		{"half", node.Power{Idle: 40, Max: 120}, .5, 80},
		{"full", node.Power{Idle: 40, Max: 120}, 1, 120},
		{"idle, concave", node.Power{Idle: 40, Max: 120, Shape: 1.4}, 0, 40},
		// 2·.25 − .25^1.4 = .5 − .14358 of 80 W.
		{"a quarter, concave", node.Power{Idle: 40, Max: 120, Shape: 1.4}, .25, 68.51305},
		{"full, concave", node.Power{Idle: 40, Max: 120, Shape: 1.4}, 1, 120},
		{"a shape of 1 is a line", node.Power{Idle: 10, Max: 20, Shape: 1}, .3, 13},
		{"a shape of 2 is flat at the end", node.Power{Max: 100, Shape: 2}, .9, 99},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.power.At(test.u); math.Abs(got-test.want) > 1e-4 {
				t.Errorf("%v W, want %v", got, test.want)
			}
		})
	}
}

func TestPowerRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		power node.Power
	}{
		{"Power.Max", node.Power{Max: -1}},
		{"Power.Max", node.Power{Max: math.Inf(1)}},
		{"Power.Max", node.Power{Max: math.NaN()}},
		{"Power.Max", node.Power{Max: 1.1e6}},
		{"Power.Idle", node.Power{Idle: -1, Max: 10}},
		{"Power.Idle", node.Power{Idle: 11, Max: 10}},
		{"Power.Idle", node.Power{Idle: math.NaN(), Max: 10}},
		{"Power.Shape", node.Power{Max: 10, Shape: .9}},
		{"Power.Shape", node.Power{Max: 10, Shape: 2.1}},
		{"Power.Shape", node.Power{Max: 10, Shape: math.NaN()}},
	} {
		_, err := node.New(node.Params{Power: test.power})
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != test.name || !errors.Is(err, node.ErrInvalid) {
			t.Errorf("%+v: %v, want %s refused", test.power, err, test.name)
		}
	}
	for _, p := range []node.Power{{}, {Max: 1e6}, {Idle: 7, Max: 7, Shape: 1}, {Max: 10, Shape: 2}} {
		if _, err := node.New(node.Params{Power: p}); err != nil {
			t.Error(err)
		}
	}
}

// busyNode has pods of all kinds: with limits, threads, init containers, memory kills, a server and
// a background.
func busyNode(t *testing.T, p node.Params, seed uint64) *node.Model {
	m := newModel(t, p)
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range 25 {
		pod := node.Pod{ID: node.PodID(i), Work: .1 + 8*rng.Float64(), Startup: 20 * rng.Float64(), Memory: 2e9 * rng.Float64(), Ramp: 3 * rng.Float64()}
		switch rng.IntN(5) {
		case 0:
			pod.Cores = .1 + .5*rng.Float64()
		case 1:
			pod.Cores, pod.Threads = 2, 3
		case 2:
			pod.Cores, pod.Limit = 1, .3
		case 3:
			pod.Init = node.Init{Containers: 2, Seconds: 1, Cores: .5, Gap: .5}
		}
		bind(t, m, pod)
	}
	bind(t, m, node.Pod{ID: 99, Server: node.Server{Rate: 5, Work: .02}})
	return m
}

// Joules are power over time, whatever changes when, compared with a naive version that sums the
// power of each fifth of a millisecond by the cores' activity.
func TestJoulesAgainstSmallSteps(t *testing.T) {
	for seed, p := range []node.Params{
		{Cores: 4, Power: node.Power{Idle: 40, Max: 120}},
		{Cores: 4, Power: node.Power{Idle: 40, Max: 120, Shape: 1.4}, Steal: .2},
		{Cores: 16, Power: node.Power{Idle: 90, Max: 300, Shape: 1.8}, Crowding: node.Cached, Overcommit: node.Swap, Memory: 8e9},
		{Cores: 64, Power: node.Power{Idle: 200, Max: 900, Shape: 1.2}},
	} {
		p.Seed = uint64(seed)
		exact, steps := busyNode(t, p, p.Seed), busyNode(t, p, p.Seed)
		exact.AdvanceTo(nil, 30)
		const step = 2e-4
		joules, before := 0., 0.
		for i := range 150_000 {
			steps.AdvanceTo(nil, float64(i+1)*step)
			now := steps.Totals()
			held := now.Busy + now.Stolen
			joules += step * p.Power.At(math.Min((held-before)/step/float64(p.Cores), 1))
			before = held
		}
		got := exact.Totals()
		if math.Abs(got.Joules-joules) > 1e-5*joules {
			t.Errorf("%+v: %v J, in small steps %v", p.Power, got.Joules, joules)
		}
		if cut := steps.Totals().Joules; math.Abs(got.Joules-cut) > 1e-9*cut {
			t.Errorf("%+v: %v J at once, %v in steps", p.Power, got.Joules, cut)
		}
		if want := 30 * p.Power.Idle; math.Abs(got.IdleJoules-want) > 1e-9*want {
			t.Errorf("%+v: %v J idle, want %v", p.Power, got.IdleJoules, want)
		}
	}
}

// On a straight line the energy of load is its core-seconds, each at the same joules.
func TestLineConservesJoules(t *testing.T) {
	p := node.Params{Cores: 4, Power: node.Power{Idle: 40, Max: 120}, Steal: .1, Seed: 5}
	m := busyNode(t, p, 5)
	m.AdvanceTo(nil, 60)
	got := m.Totals()
	want := 60*40 + (got.Busy+got.Stolen)*(120-40)/4
	if math.Abs(got.Joules-want) > 1e-9*want {
		t.Errorf("%v J, want %v", got.Joules, want)
	}
}

// A node is empty until a pod is bound, and when it has ended or was killed.
func TestEmptyJoules(t *testing.T) {
	p := quiet(4)
	p.StartWork, p.StopWork = 1, 1
	p.Power = node.Power{Idle: 40, Max: 120}
	m := newModel(t, p)
	m.AdvanceTo(nil, 10)
	bind(t, m, node.Pod{ID: 1, Work: 5, Startup: 2}) // 10 to 17
	m.AdvanceTo(nil, 30)
	bind(t, m, node.Pod{ID: 2, Work: 50}) // 30 to 40
	m.AdvanceTo(nil, 40)
	m.Kill(2)
	m.AdvanceTo(nil, 45)
	got := m.Totals()
	want := node.Totals{Joules: 45*40 + 15*20, IdleJoules: 45 * 40, EmptyJoules: (45 - 17) * 40}
	for _, f := range []struct {
		name      string
		got, want float64
	}{{"Joules", got.Joules, want.Joules}, {"IdleJoules", got.IdleJoules, want.IdleJoules}, {"EmptyJoules", got.EmptyJoules, want.EmptyJoules}} {
		if math.Abs(f.got-f.want) > 1e-3 {
			t.Errorf("%s %v, want %v", f.name, f.got, f.want)
		}
	}
}

// The counter shows the energy in steps, and wraps at its range; CPU time includes steal.
func TestReadEnergy(t *testing.T) {
	p := quiet(4)
	p.Steal = .25
	p.Power = node.Power{Idle: 1e5, Max: 2e5}
	m := newModel(t, p)
	bind(t, m, node.Pod{ID: 1, Work: 300, Cores: 2})
	sum, before, wraps := 0., uint64(0), 0
	for i := range 600 {
		m.AdvanceTo(nil, float64(i+1))
		r := m.ReadEnergy()
		if r.Microjoules > node.EnergyRange {
			t.Fatalf("counter at %d", r.Microjoules)
		}
		delta := r.Microjoules - before
		if r.Microjoules < before {
			wraps++
			delta += node.EnergyRange + 1
		}
		sum += float64(delta) * 1e-6
		before = r.Microjoules
		held := m.Totals().Busy + m.Totals().Stolen
		if r.Busy > held || r.Busy < held-.011 {
			t.Fatalf("%v core-seconds, want %v in whole jiffies", r.Busy, held)
		}
	}
	want := m.Totals().Joules
	if wraps < 200 || math.Abs(sum-want) > 1e-4 { // a µJ a wrap would be more
		t.Errorf("%v J in %d wraps, want %v", sum, wraps, want)
	}
}

// Each second is off by the noise, and by no more in the mean.
func TestEnergyNoise(t *testing.T) {
	p := node.Params{Noise: .02, Seed: 9, Power: node.Power{Idle: 50, Max: 50}}
	m := newModel(t, p)
	n, squares, before := 2000, 0., uint64(0)
	for i := range n {
		m.AdvanceTo(nil, float64(i+1))
		r := m.ReadEnergy()
		miss := float64(r.Microjoules-before)/50e6 - 1
		squares += miss * miss
		before = r.Microjoules
	}
	if sd := math.Sqrt(squares / float64(n)); math.Abs(sd-.02) > .002 {
		t.Errorf("deviation of %v, want .02", sd)
	}
	if miss := float64(before)/(50e6*float64(n)) - 1; math.Abs(miss) > .002 {
		t.Errorf("off by %v in all", miss)
	}
}

// Power and its readings change nothing else.
func TestPowerChangesNothing(t *testing.T) {
	readings := func(p node.Power, read bool) (all []node.Reading) {
		m := busyNode(t, node.Params{Power: p, Seed: 7}, 7)
		for i := range 200 {
			m.AdvanceTo(nil, float64(i+1)/10)
			if read {
				m.ReadEnergy()
			}
			r, _ := m.Read()
			all = append(all, r)
		}
		return all
	}
	want := readings(node.Power{}, false)
	for _, read := range []bool{false, true} {
		if diff := cmp.Diff(want, readings(node.Power{Idle: 40, Max: 120, Shape: 1.4}, read)); diff != "" {
			t.Errorf("read %v: (-none +power):\n%s", read, diff)
		}
	}
}
