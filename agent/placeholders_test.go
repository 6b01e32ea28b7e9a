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

// placeholderKey is that of the i-th placeholder: among the keys of the other pods, lest their
// order tell.
func placeholderKey(i int) reserve.PodKey { return reserve.PodKey(1000 + 2*i) }

// haunted is a node on which placeholders come and go, beside the same node without.
type haunted struct {
	with, without      *node
	rng                *rand.Rand
	pods, placeholders []agent.Pod
	named              []reserve.PodKey
	next               int
}

// both lets the pods come to both nodes, with the placeholders to one.
func (h *haunted) both() {
	h.without.keep(h.without.p.Pods(h.without.at, h.pods))
	h.with.keep(h.with.p.Pods(h.with.at, append(slices.Clone(h.placeholders), h.pods...)))
}

func (h *haunted) name() {
	h.with.keep(h.with.p.Placeholders(h.with.at, h.named))
}

// haunt lets one placeholder be named, come, get on, be unnamed or go.
func (h *haunted) haunt() {
	before := slices.Clone(h.placeholders)
	switch i := len(h.placeholders) - 1; h.rng.IntN(5) {
	case 0:
		if len(h.named) < 4 {
			h.named = append(h.named, placeholderKey(h.next))
			h.next++
			h.name()
			// An old scheduler tells of its bind besides.
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
	case 3: // its object is gone, its container goes later
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

// TestPlaceholdersChangeNothing: whatever placeholders do between their first notice and their
// end, every report and all that is learnt is bit for bit that of a node without,
// whether the load beside them is constant or pods come and go.
func TestPlaceholdersChangeNothing(t *testing.T) {
	for _, test := range []struct {
		name         string
		cores        float64
		events       float64 // a tick
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
				h := &haunted{with: newNode(t, c), without: newNode(t, c), rng: rand.New(rand.NewPCG(seed, 1))}
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
						h.haunt()
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
					t.Errorf("only %d placeholders came", h.next)
				}
				without, with := h.without.p.State(), h.with.p.State()
				with.Placeholders = nil
				if d := cmp.Diff(without, with, cmpopts.EquateEmpty()); d != "" {
					t.Fatalf("seed %d: state (-without +with placeholders):\n%s", seed, d)
				}
			}
		})
	}
}

// power tells both of the node's, and one of what its placeholders took.
func (h *haunted) power(t *testing.T) {
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

// TestPlaceholderToldLate: one that was counted is taken out as if it had never been. Nothing
// that is offered exceeds what was offered before it came, nor does anything dip below
// what it was offered beside the placeholder.
func TestPlaceholderToldLate(t *testing.T) {
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
			t.Fatalf("%d pods are counted while nobody has said of one that it is a placeholder, want 3", got)
		}
		n.at = n.at.Add(60 * time.Millisecond)
		n.keep(n.p.Placeholders(n.at, []reserve.PodKey{placeholderKey(0)}))
		told := len(n.reports) - 1
		n.samples(300, .35, .1)
		if after := n.reports[told]; len(after.Pods) != 2 || !after.SampledAt.Equal(beside.SampledAt) && late > time.Second {
			t.Errorf("late by %v: the report when it was told counts %v", late, after.Pods)
		}
		for _, r := range n.reports[told:] {
			if r.Avail > before.Avail+.35 || r.Avail < beside.Avail-.1 || len(r.Pods) != 2 {
				t.Errorf("late by %v: %.2f pods offered with %d counted; %.2f before the placeholder came, %.2f beside it",
					late, r.Avail, len(r.Pods), before.Avail, beside.Avail)
			}
			if cost, was := r.Channels[0].Cost, before.Channels[0].Cost; !near(cost, was, .1*was) {
				t.Errorf("late by %v: a pod costs %.4f, before the placeholder %.4f", late, cost, was)
			}
		}
	}
}

// TestPlaceholdersThatWereThereFirst, before the agent: it counts them until a scheduler
// comes, and what it has learnt by then is worth as much as if it had not.
func TestPlaceholdersThatWereThereFirst(t *testing.T) {
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

// TestPlaceholderStaysOne while it is on the node and for a minute before it comes, whatever
// schedulers say meanwhile; a pod is one no longer than that.
func TestPlaceholderStaysOne(t *testing.T) {
	n := newNode(t, config())
	n.samples(1, .2, .1)
	counted := func(want int) {
		t.Helper()
		n.samples(2, .2, .1)
		if got := len(n.last().Pods); got != want {
			t.Errorf("%d pods are counted, want %d", got, want)
		}
	}
	name := func(keys ...reserve.PodKey) {
		t.Helper()
		n.keep(n.p.Placeholders(n.at, keys))
	}
	name(7, 8, 7)
	n.list(7)
	counted(0)
	name(8) // 7 is deleted; its container lingers
	n.at = n.at.Add(time.Hour)
	n.list(7, 9)
	counted(1)
	n.list(9)
	name() // 8 is deleted before its container comes
	n.at = n.at.Add(time.Minute - 300*time.Millisecond)
	n.list(9, 8)
	counted(1)
	n.list(9)
	n.at = n.at.Add(time.Minute)
	n.samples(1, .2, .1)
	if n.list(9, 8); n.p.Placeholder(8) {
		t.Error("a pod is a placeholder though nobody has named it for two minutes")
	}
	counted(2)
	if s := n.p.State(); len(s.Placeholders) > 0 {
		t.Errorf("placeholders that are long gone are remembered: %+v", s.Placeholders)
	}
}

func TestPlaceholdersRefuse(t *testing.T) {
	n := newNode(t, config())
	n.samples(1, .2, .1)
	before := n.p.State()
	var bad *field.Error
	if _, _, err := n.p.Placeholders(n.at, make([]reserve.PodKey, kalman.MaxPods+1)); !errors.As(err, &bad) || bad.Field != "len(pods)" {
		t.Errorf("too many placeholders: %v", err)
	}
	if d := cmp.Diff(before, n.p.State()); d != "" {
		t.Errorf("what was refused changed the state:\n%s", d)
	}
}
