package agent_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
)

// measured returns the power of a node with one of four cores busy.
func measured() energy.Power {
	return energy.Power{Quality: energy.Measured, Watts: 60, SD: .5, Max: 120, Idle: 40, Marginal: 20, Busy: 1, Cores: 4, Joules: 1234.5}
}

// power passes a power to a node.
func (n *node) power(p energy.Power) {
	n.t.Helper()
	if err := n.p.Power(n.at, p); err != nil {
		n.t.Fatal(err)
	}
}

func TestReportsCarryThePower(t *testing.T) {
	n := newNode(t, config())
	n.samples(10, .25, .1)
	if r := n.last(); r.Power != (energy.Power{}) || r.PodCores != nil || r.PodWatts != nil {
		t.Errorf("no power was measured: got %+v", r)
	}
	n.power(measured())
	n.samples(10, .25, .1)
	if d := cmp.Diff(measured(), n.last().Power); d != "" {
		t.Errorf("power (-measured +reported):\n%s", d)
	}
	for _, q := range []energy.Quality{energy.None, energy.Measured + 1, 255} {
		unknown := measured()
		unknown.Quality = q
		n.power(unknown)
		n.samples(10, .25, .1)
		if p := n.last().Power; p != (energy.Power{}) {
			t.Errorf("quality %d: %+v", q, p)
		}
	}
}

func TestPodPowerIsInTheNextReport(t *testing.T) {
	n := newNode(t, config())
	n.samples(10, .25, .1)
	n.list(2, 5, 7)
	n.samples(10, .25, .1)
	measured := []agent.PodPower{{Pod: 7, Cores: 1.5, Watts: 30}, {Pod: 9, Cores: 2, Watts: 4}, {Pod: 2, Cores: agent.LeastCores}}
	given := slices.Clone(measured)
	if err := n.p.PodPower(n.at, measured); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(given, measured); d != "" {
		t.Errorf("the argument was modified:\n%s", d)
	}
	measured[0].Cores = 99 // the pipeline has its own copy
	n.reports = nil
	n.samples(20, .25, .1)
	for i, r := range n.reports {
		var cores, watts []float32
		if i == 0 {
			cores, watts = []float32{agent.LeastCores, 0, 1.5}, []float32{0, 0, 30}
		}
		if !slices.Equal(r.Pods, []reserve.PodKey{2, 5, 7}) || !slices.Equal(r.PodCores, cores) || !slices.Equal(r.PodWatts, watts) {
			t.Errorf("report %d of %v: got %v cores and %v W", i, r.Pods, r.PodCores, r.PodWatts)
		}
	}
	if len(n.reports) < 2 {
		t.Errorf("%d reports", len(n.reports))
	}
	// Without a counted pod they wait until one is counted.
	n.list()
	n.reports = nil
	if err := n.p.PodPower(n.at, []agent.PodPower{{Pod: 3, Cores: 1}}); err != nil {
		t.Fatal(err)
	}
	n.samples(10, .25, .1)
	n.list(3)
	n.samples(1, .25, .1)
	if r := n.last(); !slices.Equal(r.PodCores, []float32{1}) || !slices.Equal(r.PodWatts, []float32{0}) {
		t.Errorf("pod 3: got %v cores and %v W", r.PodCores, r.PodWatts)
	}
}

// TestPowerOfPendingPods: pods that a report counts are no longer in flight, so the report's power
// includes them even if it was measured without them, or with only some.
func TestPowerOfPendingPods(t *testing.T) {
	for name, tt := range map[string]struct {
		before, now, late int // pods while power was measured, at its end, and now
		change            func(*energy.Power)
		want              func(c float64) (watts, busy float64) // c is cores per pod
	}{
		"none":                 {2, 2, 2, nil, func(float64) (float64, float64) { return 60, 1 }},
		"one started since":    {0, 0, 1, nil, func(c float64) (float64, float64) { return 60 + 20*c, 1 + c }},
		"two started halfway":  {0, 2, 2, nil, func(c float64) (float64, float64) { return 60 + 20*c, 1 + c }},
		"one ended since":      {1, 1, 0, func(p *energy.Power) { p.Busy, p.Watts = 3, 100 }, func(c float64) (float64, float64) { return 100 - 20*c, 3 - c }},
		"no less than idle":    {4, 4, 0, func(p *energy.Power) { p.Watts = 41 }, func(float64) (float64, float64) { return 40, 0 }},
		"below its own idle":   {4, 4, 0, func(p *energy.Power) { p.Watts = 39 }, func(float64) (float64, float64) { return 39, 0 }},
		"no more than cores":   {0, 0, 4, nil, func(c float64) (float64, float64) { return 60 + 3*20, 1 + 4*c }},
		"full as it was":       {0, 0, 1, func(p *energy.Power) { p.Busy = 4 }, func(c float64) (float64, float64) { return 60, 4 + c }},
		"more busy than cores": {0, 0, 1, func(p *energy.Power) { p.Busy = 5 }, func(c float64) (float64, float64) { return 60, 5 + c }},
		"bounded":              {0, 0, 4, func(p *energy.Power) { p.Watts, p.Marginal, p.Max = 999_999, 999_999, 1e6 }, func(c float64) (float64, float64) { return 1e6, 1 + 4*c }},
	} {
		for _, size := range []float64{4, 6} { // of which a pod takes a part
			t.Run(fmt.Sprintf("%s/size=%g", name, size), func(t *testing.T) {
				config := config()
				config.Channels[0].Size = size
				n := newNode(t, config)
				n.samples(10, .25, .1)
				n.pods(tt.before)
				n.power(energy.Power{})
				n.samples(5, .25, .1)
				n.pods(tt.now)
				n.samples(5, .25, .1)
				p := measured()
				if tt.change != nil {
					tt.change(&p)
				}
				n.power(p)
				n.reports = nil
				n.pods(tt.late)
				for len(n.reports) == 0 {
					n.samples(1, .25, .1)
				}
				r := n.last()
				watts, busy := tt.want(r.Channels[0].Cost * size)
				flags := p.Flags
				if busy != p.Busy {
					flags |= energy.Projected
				}
				if !near(r.Power.Watts, watts, 1e-9) || !near(r.Power.Busy, busy, 1e-9) || r.Power.Flags != flags {
					t.Errorf("got %g W with %g cores busy (%v), want %g W, %g cores (%v)", r.Power.Watts, r.Power.Busy, r.Power.Flags, watts, busy, flags)
				}
				w, _ := n.p.Why()
				if w.Power == nil || !near(w.Power.Projected, watts-p.Watts, 1e-9) || w.Power.Watts != r.Power.Watts || !near(w.Power.PodsMeasured, float64(tt.before+tt.now)/2, 1e-9) {
					t.Errorf("why: %+v", w.Power)
				}
				// After as long a load as the measurement took, the power includes the pods.
				n.power(p)
				n.samples(10, .25, .1)
				n.power(p)
				n.samples(10, .25, .1)
				if r := n.last(); !near(r.Power.Watts, p.Watts, 1e-9) || !near(r.Power.Busy, p.Busy, 1e-9) {
					t.Errorf("measured: %+v", r.Power)
				}
			})
		}
	}
}

func TestWhyHasThePower(t *testing.T) {
	n := newNode(t, config())
	n.samples(10, .25, .1)
	if w, _ := n.p.Why(); w.Power != nil {
		t.Errorf("no power was measured: got %+v", w.Power)
	}
	p := measured()
	p.Flags = energy.Extrapolated
	n.power(p)
	if err := n.p.PodPower(n.at, []agent.PodPower{{Pod: math.MaxUint64, Cores: .5, Watts: 10}, {Pod: 1, Cores: .25}}); err != nil {
		t.Fatal(err)
	}
	n.samples(10, .25, .1)
	want := &agent.WhyPower{
		Quality: "measured", Flags: "extrapolated", Watts: 60, SD: .5, Max: 120, Idle: 40, Marginal: 20, Busy: 1, Cores: 4, Joules: 1234.5,
		Pods: []agent.WhyPodPower{{Pod: "0000000000000001", Cores: .25}, {Pod: "ffffffffffffffff", Cores: .5, Watts: 10}},
	}
	w, _ := n.p.Why()
	if d := cmp.Diff(want, w.Power); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPowerRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tell := func(p ...agent.PodPower) func(*node) error {
		return func(n *node) error { return n.p.PodPower(n.at, p) }
	}
	draw := func(change func(*energy.Power)) func(*node) error {
		p := measured()
		change(&p)
		return func(n *node) error { return n.p.Power(n.at, p) }
	}
	for _, tt := range []struct {
		name string
		give func(*node) error
	}{
		{"Power.Watts", draw(func(p *energy.Power) { p.Watts = nan })},
		{"Power.Watts", draw(func(p *energy.Power) { p.Watts = -1 })},
		{"Power.SD", draw(func(p *energy.Power) { p.SD = inf })},
		{"Power.Cores", draw(func(p *energy.Power) { p.Cores = 4097 })},
		{"Power.Joules", draw(func(p *energy.Power) { p.Quality, p.Joules = energy.None, 1e16 })},
		{"pods[1].Pod", tell(agent.PodPower{Pod: 4, Cores: 1}, agent.PodPower{Pod: 4, Cores: 1})},
		{"pods[0].Cores", tell(agent.PodPower{Pod: 4})},
		{"pods[0].Cores", tell(agent.PodPower{Pod: 4, Cores: float32(nan)})},
		{"pods[1].Cores", tell(agent.PodPower{Pod: 4, Cores: 4097}, agent.PodPower{Pod: 3, Cores: 1})},
		{"pods[0].Watts", tell(agent.PodPower{Pod: 4, Cores: 1, Watts: -1})},
		{"pods[0].Watts", tell(agent.PodPower{Pod: 4, Cores: 1, Watts: float32(inf)})},
		{"len(pods)", tell(make([]agent.PodPower, 1_000_001)...)},
	} {
		n := newNode(t, config())
		n.samples(10, .25, .1)
		for range 2 { // the second time there is a state that could be lost
			before := marshal(t, n.p.State())
			err := tt.give(n)
			var bad *field.Error
			if !errors.As(err, &bad) || bad.Field != tt.name || !errors.Is(err, agent.ErrInvalid) {
				t.Errorf("got error %v, want a *field.Error of %s", err, tt.name)
			}
			if marshal(t, n.p.State()) != before {
				t.Errorf("%s: the state changed", tt.name)
			}
			n.power(measured())
			if err := n.p.PodPower(n.at, []agent.PodPower{{Pod: 1, Cores: 1}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPowerOfAStateContinues stops a node with measured power at many moments and continues from its
// stored state beside it.
func TestPowerOfAStateContinues(t *testing.T) {
	live := func(n *node, rng *rand.Rand, ticks int) {
		for i := range ticks {
			if rng.IntN(3) == 0 {
				n.list(seq(rng.IntN(6))...)
			}
			if i%10 == 3 {
				p := measured()
				p.Watts, p.Busy = 40+40*rng.Float64(), 4*rng.Float64()
				n.power(p)
			}
			if i%25 == 7 {
				if err := n.p.PodPower(n.at, []agent.PodPower{{Pod: 2, Cores: rng.Float32() + 1}, {Pod: 1, Cores: 1, Watts: rng.Float32()}}); err != nil {
					n.t.Fatal(err)
				}
			}
			n.samples(1, rng.Float64(), .1)
		}
	}
	for seed := range uint64(20) {
		n := newNode(t, config())
		live(n, rand.New(rand.NewPCG(seed, 0)), 5+3*int(seed))
		m := &node{t: t, p: restored(t, n.p), at: n.at}
		n.reports = nil
		live(n, rand.New(rand.NewPCG(seed, 1)), 40)
		live(m, rand.New(rand.NewPCG(seed, 1)), 40)
		if d := cmp.Diff(n.reports, m.reports); d != "" {
			t.Fatalf("seed %d: the restored node differs:\n%s", seed, d)
		}
		if !slices.ContainsFunc(n.reports, func(r agent.Report) bool { return len(r.PodCores) > 0 && r.Power.Flags&energy.Projected != 0 }) {
			t.Errorf("seed %d covers too little", seed)
		}
	}
}

// A state is a copy, and so is the state of a pipeline made from it.
func TestStateOfPowerIsACopy(t *testing.T) {
	n := newNode(t, config())
	n.list(1)
	n.power(measured())
	if err := n.p.PodPower(n.at, []agent.PodPower{{Pod: 1, Cores: 1}}); err != nil {
		t.Fatal(err)
	}
	s := n.p.State()
	m, err := agent.FromState(config(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Power.Power.Watts, s.Power.Took[0].Cores = 99, 99
	for _, p := range []*agent.Pipeline{n.p, m} {
		if got := p.State().Power; got.Power.Watts != 60 || got.Took[0].Cores != 1 {
			t.Errorf("changed with the state: %+v", got)
		}
	}
}

func TestFromStateRejectsPower(t *testing.T) {
	for name, edit := range map[string]func(*agent.State){
		"power":       func(s *agent.State) { s.Power.Power.Watts = -1 },
		"pods":        func(s *agent.State) { s.Power.Pods = math.NaN() },
		"pod-seconds": func(s *agent.State) { s.Power.PodSeconds = math.Inf(1) },
		"a pod twice": func(s *agent.State) { s.Power.Took = append(s.Power.Took, s.Power.Took...) },
	} {
		n := newNode(t, config())
		n.samples(10, .25, .1)
		n.power(measured())
		if err := n.p.PodPower(n.at, []agent.PodPower{{Pod: 1, Cores: 1}}); err != nil {
			t.Fatal(err)
		}
		s := n.p.State()
		edit(&s)
		if _, err := agent.FromState(config(), s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestPowerChangesNothingElse: apart from its power, a node with measured power reports the same as one
// without.
func TestPowerChangesNothingElse(t *testing.T) {
	for seed := range uint64(5) {
		n, m := newNode(t, config()), newNode(t, config())
		for _, one := range []*node{n, m} {
			rng := rand.New(rand.NewPCG(seed, 2))
			for i := range 100 {
				if one == m && i%10 == 5 {
					one.power(measured())
					if err := one.p.PodPower(one.at, []agent.PodPower{{Pod: 1, Cores: 1}}); err != nil {
						t.Fatal(err)
					}
				}
				one.run(rng, 1, .2, .15)
			}
		}
		for i := range m.reports {
			m.reports[i].Power, m.reports[i].PodCores, m.reports[i].PodWatts = energy.Power{}, nil, nil
		}
		if d := cmp.Diff(n.reports, m.reports); d != "" {
			t.Fatalf("seed %d (-without +with):\n%s", seed, d)
		}
		s := m.p.State()
		s.Power = nil
		if d := cmp.Diff(marshal(t, n.p.State()), marshal(t, s)); d != "" {
			t.Errorf("seed %d: state (-without +with):\n%s", seed, d)
		}
	}
}

// TestPowerOutOfTime: a time that goes backwards must not lead to a negative number of pods.
func TestPowerOutOfTime(t *testing.T) {
	n := newNode(t, config())
	n.samples(10, .25, .1)
	n.list(1, 2)
	for _, at := range []time.Time{n.at.Add(time.Hour), n.at, n.at.Add(-time.Hour), {}, n.at} {
		if err := n.p.Power(at, measured()); err != nil {
			t.Fatal(err)
		}
		if s := n.p.State().Power; !(s.Pods >= 0 && s.Pods <= 2) {
			t.Errorf("%v pods", s.Pods)
		}
	}
}
