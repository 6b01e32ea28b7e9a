package sim_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

func heeding(weight float64, o energy.Objective) sim.Spazio {
	return sim.Spazio{}.WithEnergy(weight, o)
}

// arrivals are pods of so many cores for ten seconds each, of one workload, one each so
// many seconds in the mean.
func arrivals(seed uint64, n int, every, cores float64) []sim.Pod {
	rng := rand.New(rand.NewPCG(seed, 5))
	pods, now := make([]sim.Pod, n), 0.
	for i := range pods {
		now += every * rng.ExpFloat64()
		pods[i] = sim.Pod{Created: now, Work: 10 * cores, Cores: cores, Workload: "job", Startup: node.StartupLatency(rng)}
	}
	return pods
}

// shareOf is the share of the pods that ran on nodes of the first of two machines in
// turn.
func shareOf(r sim.Result) float64 {
	n := 0.
	for _, record := range r.Records {
		if record.Node%2 == 0 {
			n++
		}
	}
	return n / float64(len(r.Records))
}

// Where no power is known energy counts for nothing, whatever its weight.
func TestEnergyOfUnknownPower(t *testing.T) {
	pods := mixed(5, 100)
	want := run(t, sim.Config{Nodes: 4, Seed: 5, Scheduler: sim.Spazio{}}, pods)
	for _, o := range []energy.Objective{energy.Marginal, energy.Remaining} {
		s := heeding(.5, o)
		s.EmptyNodesSleep = true
		got := run(t, sim.Config{Nodes: 4, Seed: 5, Scheduler: s}, pods)
		if diff := cmp.Diff(want.Records, got.Records); diff != "" {
			t.Errorf("%v: (-without energy +with):\n%s", o, diff)
		}
	}
}

// Agents learn what their nodes take, so that pods go where they raise the power least,
// or where most is left; of those nodes of which nothing is known they get their share.
func TestPlacesByEnergy(t *testing.T) {
	pods := arrivals(2, 300, 1.2, 1) // 8 of 24 cores
	for _, test := range []struct {
		name      string
		s         sim.Spazio
		other     node.Power
		low, high float64
	}{
		{"not at all", heeding(0, energy.Marginal), large, .4, .6},
		{"marginal", heeding(.5, energy.Marginal), large, .8, 1},
		{"marginal, alone", heeding(1, energy.Marginal), large, .85, 1},
		{"remaining", heeding(.5, energy.Remaining), large, 0, .4},
		{"nothing known", heeding(.5, energy.Marginal), node.Power{}, .35, .65},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := sim.Config{Nodes: 6, Machines: machines(small, test.other), Scheduler: test.s, Seed: 2}
			if got := shareOf(run(t, c, pods)); got < test.low || got > test.high {
				t.Errorf("%.2f of the pods on the first kind of nodes, want %v to %v", got, test.low, test.high)
			}
		})
	}
}

// Nodes without pods that are taken for asleep are left alone, as long as others have
// room.
func TestEmptyNodesSleep(t *testing.T) {
	pods := arrivals(3, 150, 3, 1) // 3 of 24 cores
	c := sim.Config{Nodes: 6, Machines: machines(small), Scheduler: heeding(.5, energy.Marginal), Seed: 3}
	awake := run(t, c, pods)
	s := heeding(.5, energy.Marginal)
	s.EmptyNodesSleep = true
	c.Scheduler = s
	asleep := run(t, c, pods)
	if a, b := asleep.Energy.IfEmptySlept(), awake.Energy.IfEmptySlept(); a > .85*b {
		t.Errorf("%.0f J if empty nodes slept, %.0f where nobody heeds it", a, b)
	}
}

// What a workload's pods were measured to take is what the next is expected to: sixteen
// of a quarter of a core fit the node that is best for them.
func TestPodsAreExpectedToTakeWhatTheyTook(t *testing.T) {
	pods := make([]sim.Pod, 22)
	for i := range pods {
		pods[i] = sim.Pod{Created: 20 * float64(i), Work: 200, Cores: .2, Workload: "small", Startup: 1}
	}
	c := sim.Config{Nodes: 2, Machines: machines(small, large), Scheduler: heeding(1, energy.Marginal), Seed: 6}
	r := run(t, c, pods)
	for i, record := range r.Records[:19] {
		if i > 1 && record.Node != 0 {
			t.Errorf("pod %d is on the node that takes more", i)
		}
	}
	n := 0
	for _, record := range r.Records {
		n += record.Node
	}
	if n == 0 {
		t.Error("the full node was taken for free")
	}
}

func TestEnergySameSeedSameBytes(t *testing.T) {
	bytesOf := func() string {
		c := sim.Config{Nodes: 4, Machines: machines(small, large), Scheduler: heeding(.5, energy.Marginal), Seed: 9}
		b, err := json.Marshal(run(t, c, arrivals(9, 120, 1, .5)))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if first, again := bytesOf(), bytesOf(); first != again {
		t.Error("two runs differ")
	}
}

// The counter of a node that takes more than a megawatt in ten minutes wraps, and the
// default bound of a meter is no bound for it.
func TestLargeNodes(t *testing.T) {
	c := sim.Config{Nodes: 4, Machines: machines(node.Power{Idle: 500, Max: 2500}, node.Power{Idle: 900, Max: 6000}), Scheduler: heeding(.5, energy.Marginal), Seed: 2}
	if got := shareOf(run(t, c, arrivals(2, 200, 1.5, 1))); got < .75 {
		t.Errorf("%.2f of the pods on the thrifty nodes", got)
	}
}

func TestEnergyObjectiveRefused(t *testing.T) {
	_, err := sim.Run(t.Context(), sim.Config{Nodes: 1, Scheduler: sim.Spazio{EnergyObjective: 2}}, []sim.Pod{{Work: 1}})
	var refused *sim.FieldError
	if !errors.As(err, &refused) || refused.Field != "EnergyObjective" {
		t.Errorf("%v", err)
	}
}
