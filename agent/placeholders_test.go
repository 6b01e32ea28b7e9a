package agent_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// placeholderKey returns the key of the i-th placeholder: between the keys of other pods, so that their
// order does not give them away.
func placeholderKey(i int) reserve.PodKey { return reserve.PodKey(1000 + 2*i) }

// nodePair is a node on which placeholders come and go, and the same node without placeholders.
type nodePair struct {
	with, without      *node
	rng                *rand.Rand
	pods, placeholders []agent.Pod
	named              []reserve.PodKey
	next               int
}

// both starts the pods on both nodes, the placeholders on one.
func (h *nodePair) both() {
	h.without.keep(h.without.p.Pods(h.without.at, h.pods))
	h.with.keep(h.with.p.Pods(h.with.at, append(slices.Clone(h.placeholders), h.pods...)))
}

func (h *nodePair) name() {
	h.with.keep(h.with.p.Placeholders(h.with.at, h.named))
}

// changePlaceholder lets one placeholder be named, start, advance, be unnamed or end.
func (h *nodePair) changePlaceholder() {
	before := slices.Clone(h.placeholders)
	switch i := len(h.placeholders) - 1; h.rng.IntN(5) {
	case 0:
		if len(h.named) < 4 {
			h.named = append(h.named, placeholderKey(h.next))
			h.next++
			h.name()
			// An old scheduler also sends a notice of its binding.
			h.with.p.Bound(h.with.at, agent.Bind{Pod: h.named[len(h.named)-1]})
		}
	case 1:
		for _, key := range h.named {
			if !slices.ContainsFunc(h.placeholders, func(p agent.Pod) bool { return p.Key == key }) {
				h.placeholders = append(h.placeholders, agent.Pod{Key: key})
			}
		}
	case 2:
		if i >= 0 {
			h.placeholders[i].State, h.placeholders[i].Starts = agent.PodState(h.rng.IntN(3)), h.placeholders[i].Starts+1
		}
	case 3: // its object is deleted, its container ends later
		if len(h.named) > 0 {
			h.named = slices.Delete(h.named, 0, 1)
			h.name()
		}
	case 4:
		h.placeholders = slices.DeleteFunc(h.placeholders, func(p agent.Pod) bool { return h.rng.IntN(2) == 0 && !slices.Contains(h.named, p.Key) })
	}
	if !slices.Equal(before, h.placeholders) {
		h.with.keep(h.with.p.Pods(h.with.at, append(slices.Clone(h.placeholders), h.pods...)))
	}
}

// TestPlaceholdersChangeNothing: whatever placeholders do between their first notice and their end,
// every report and the learned state equal bit for bit those of a node without placeholders, whether
// the load beside them is constant or pods come and go.
func TestPlaceholdersChangeNothing(t *testing.T) {
	for _, test := range []struct {
		name         string
		cores        float64
		events       float64 // per tick
		noise, spike float64
		energy       bool
	}{
		{name: "constant load", cores: 4, noise: 0},
		{name: "noisy load, no pod ends", cores: 64, noise: .02},
		{name: "pods come and go", cores: 4, events: .1, noise: .02},
		{name: "pods whose starts spike, with power", cores: 8, events: .05, noise: .01, spike: .3, energy: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(5) {
				c := config()
				c.Cores, c.Channels[0].Size = test.cores, test.cores
				h := &nodePair{with: newNode(t, c), without: newNode(t, c), rng: rand.New(rand.NewPCG(seed, 1))}
				load := rand.New(rand.NewPCG(seed, 2))
				h.pods = []agent.Pod{{Key: 3, State: agent.PodRunning, Starts: 1}, {Key: 5000, State: agent.PodRunning, Starts: 1}}
				h.both()
				next, spike := 1, 0
				for range 1500 {
					if load.Float64() < test.events {
						spike = 3
						b := agent.Bind{Pod: reserve.PodKey(2*next + 1), Inits: load.IntN(2), InitsKnown: load.IntN(2) == 0}
						if load.IntN(3) == 0 {
							b.Demand.CPU = profile.Share{Amount: load.Float64(), Confidence: load.Float64()}
						}
						next++
						for _, n := range []*node{h.with, h.without} {
							n.p.Churn(n.at)
							n.p.Bound(n.at, b)
						}
						if i := load.IntN(len(h.pods)); load.IntN(2) == 0 && len(h.pods) > 2 {
							h.pods = slices.Delete(h.pods, i, i+1)
						} else {
							h.pods = append(h.pods, agent.Pod{Key: b.Pod, State: agent.PodState(load.IntN(3)), Starts: load.IntN(3)})
						}
						h.both()
					}
					readings := []agent.PodReading{{Pod: 3, Age: time.Minute, CPU: time.Second, Memory: 1 << 30}}
					for _, n := range []*node{h.with, h.without} {
						if n == h.with {
							readings = append(readings, agent.PodReading{Pod: placeholderKey(h.next - 1), Age: time.Minute, CPU: time.Hour})
						}
						n.p.Usage(n.at, readings)
					}
					if test.energy {
						h.power(t)
					}
					if now := h.with.at; h.rng.IntN(4) == 0 {
						h.with.at = now.Add(time.Duration(h.rng.IntN(90)) * time.Millisecond)
						h.changePlaceholder()
						h.with.at = now
					}
					y := .1 + .11*float64(len(h.pods)) + test.noise*load.NormFloat64()
					if spike > 0 {
						y += test.spike
					}
					spike--
					for _, n := range []*node{h.with, h.without} {
						n.samples(1, min(max(y, 0), 1), min(.05+.02*float64(len(h.pods)), 1))
					}
				}
				if d := cmp.Diff(h.without.reports, h.with.reports); d != "" {
					t.Fatalf("seed %d: reports (-without +with placeholders):\n%s", seed, d)
				}
				if h.next < 10 {
					t.Errorf("got only %d placeholders", h.next)
				}
				without, with := h.without.p.State(), h.with.p.State()
				with.Placeholders = nil
				if d := cmp.Diff(without, with, cmpopts.EquateEmpty(), unexported); d != "" {
					t.Fatalf("seed %d: state (-without +with placeholders):\n%s", seed, d)
				}
			}
		})
	}
}

// power passes the node's power to both, and to one the placeholders' usage.
func (h *nodePair) power(t *testing.T) {
	for _, n := range []*node{h.with, h.without} {
		took := []agent.PodPower{{Pod: 3, Cores: .5, Watts: 5}}
		if n == h.with && len(h.named) > 0 {
			took = append(took, agent.PodPower{Pod: h.named[0], Cores: .25, Watts: 1})
		}
		if err := errors.Join(n.p.PodPower(n.at, took), n.p.Power(n.at, energy.Power{Quality: energy.Measured, Watts: 50, Max: 120, Idle: 40, Marginal: 10, Cores: 8})); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLatePlaceholderNotice: a placeholder that was counted is removed as if it had never existed. The
// node then reports no more room than before its start, and at no time less than beside it.
func TestLatePlaceholderNotice(t *testing.T) {
	for _, late := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 10 * time.Second} {
		n := newNode(t, config())
		n.run(rand.New(rand.NewPCG(7, 7)), 300, .05, .15)
		n.pods(2)
		n.samples(100, .35, .1)
		before := n.last()
		n.list(append(slices.Clone(n.podsNow), placeholderKey(0))...)
		n.samples(int(late/(100*time.Millisecond)), .35, .1)
		beside := n.last()
		if got := len(beside.Pods); got != 3 {
			t.Fatalf("before the notice: got %d counted pods, want 3", got)
		}
		n.at = n.at.Add(60 * time.Millisecond)
		n.keep(n.p.Placeholders(n.at, []reserve.PodKey{placeholderKey(0)}))
		noticed := len(n.reports) - 1
		n.samples(300, .35, .1)
		if after := n.reports[noticed]; len(after.Pods) != 2 || !after.SampledAt.Equal(beside.SampledAt) && late > time.Second {
			t.Errorf("late by %v: the report at the notice counts %v", late, after.Pods)
		}
		for _, r := range n.reports[noticed:] {
			if r.Avail > before.Avail+.35 || r.Avail < beside.Avail-.1 || len(r.Pods) != 2 {
				t.Errorf("late by %v: got room for %.2f pods with %d counted; %.2f before the placeholder, %.2f beside it",
					late, r.Avail, len(r.Pods), before.Avail, beside.Avail)
			}
			if cost, was := r.Channels[0].Cost, before.Channels[0].Cost; !near(cost, was, .1*was) {
				t.Errorf("late by %v: got cost %.4f, want %.4f as before the placeholder", late, cost, was)
			}
		}
	}
}

// TestPlaceholdersOlderThanTheAgent are counted until a scheduler connects; what the agent learned
// until then is as good as without them.
func TestPlaceholdersOlderThanTheAgent(t *testing.T) {
	with, without := newNode(t, config()), newNode(t, config())
	for i, n := range []*node{with, without} {
		n.podsNow = seq(2)
		keys := slices.Clone(n.podsNow)
		if i == 0 {
			keys = append(keys, placeholderKey(0), placeholderKey(1), placeholderKey(2), placeholderKey(3))
		}
		n.list(keys...)
		n.samples(55, .35, .1)
	}
	with.keep(with.p.Placeholders(with.at, []reserve.PodKey{placeholderKey(0), placeholderKey(1), placeholderKey(2), placeholderKey(3)}))
	for _, n := range []*node{with, without} {
		n.samples(50, .35, .1)
	}
	if d := cmp.Diff(without.last().Channels, with.last().Channels, cmpopts.EquateApprox(1e-6, 1e-9)); d != "" {
		t.Errorf("estimates (-without +with placeholders):\n%s", d)
	}
	for _, n := range []*node{with, without} { // two of the pods end
		n.p.Churn(n.at)
		if n.list(1); n == with {
			n.list(1, placeholderKey(0), placeholderKey(1))
		}
		n.samples(100, .2, .1)
	}
	if d := cmp.Diff(without.last().Channels, with.last().Channels, cmpopts.EquateApprox(1e-3, 1e-6)); d != "" {
		t.Errorf("estimates after a pod has ended (-without +with placeholders):\n%s", d)
	}
}

// TestPlaceholderLifetime: a pod stays a placeholder while it is on the node, and up to a minute before
// it starts, whatever notices follow; then no longer.
func TestPlaceholderLifetime(t *testing.T) {
	n := newNode(t, config())
	n.samples(1, .2, .1)
	counted := func(want int) {
		t.Helper()
		n.samples(2, .2, .1)
		if got := len(n.last().Pods); got != want {
			t.Errorf("got %d counted pods, want %d", got, want)
		}
	}
	name := func(keys ...reserve.PodKey) {
		t.Helper()
		n.keep(n.p.Placeholders(n.at, keys))
	}
	name(7, 8, 7)
	n.list(7)
	counted(0)
	name(8) // 7 is deleted; its container is still running
	n.at = n.at.Add(time.Hour)
	n.list(7, 9)
	counted(1)
	n.list(9)
	name() // 8 is deleted before its container starts
	n.at = n.at.Add(time.Minute - 300*time.Millisecond)
	n.list(9, 8)
	counted(1)
	n.list(9)
	n.at = n.at.Add(time.Minute)
	n.samples(1, .2, .1)
	if n.list(9, 8); n.p.Placeholder(8) {
		t.Error("a pod is still a placeholder two minutes after the last notice")
	}
	counted(2)
	if s := n.p.State(); len(s.Placeholders) > 0 {
		t.Errorf("got placeholders that ended long ago: %+v", s.Placeholders)
	}
}

func TestPlaceholdersRefuse(t *testing.T) {
	n := newNode(t, config())
	n.samples(1, .2, .1)
	before := n.p.State()
	var bad *field.Error
	if _, _, err := n.p.Placeholders(n.at, make([]reserve.PodKey, kalman.MaxPods+1)); !errors.As(err, &bad) || bad.Field != "len(pods)" {
		t.Errorf("too many placeholders: got error %v", err)
	}
	if d := cmp.Diff(before, n.p.State(), unexported); d != "" {
		t.Errorf("the refused notice changed the state:\n%s", d)
	}
}
