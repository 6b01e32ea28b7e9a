package sim_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

func byEnergy(weight float64, o energy.Objective) sim.Spazio {
	return sim.Spazio{}.WithEnergy(weight, o)
}

// arrivals returns pods of one workload with that many cores for ten seconds each, at that mean
// interval.
func arrivals(seed uint64, n int, every, cores float64) []sim.Pod {
	rng := rand.New(rand.NewPCG(seed, 5))
	pods, now := make([]sim.Pod, n), 0.
	for i := range pods {
		now += every * rng.ExpFloat64()
		pods[i] = sim.Pod{Created: now, Work: 10 * cores, Cores: cores, Workload: "job", Startup: node.StartupLatency(rng)}
	}
	return pods
}

// shareOf returns the share of the pods that ran on nodes of the first of two alternating machines.
func shareOf(r sim.Result) float64 {
	n := 0.
	for _, record := range r.Records {
		if record.Node%2 == 0 {
			n++
		}
	}
	return n / float64(len(r.Records))
}

// Without known power energy does not count, whatever its weight.
func TestEnergyOfUnknownPower(t *testing.T) {
	pods := mixed(5, 100)
	want := run(t, sim.Config{Nodes: 4, Seed: 5, Scheduler: sim.Spazio{}}, pods)
	for _, o := range []energy.Objective{energy.Marginal, energy.Remaining} {
		s := lettingSleep(.5)
		s.EnergyObjective = o
		got := run(t, sim.Config{Nodes: 4, Seed: 5, Scheduler: s}, pods)
		if diff := cmp.Diff(want.Records, got.Records); diff != "" {
			t.Errorf("%v: (-without energy +with):\n%s", o, diff)
		}
	}
}

// Agents learn their nodes' power, so that pods go where they raise it least, or where most is
// left; nodes of unknown power get their share.
func TestPlacesByEnergy(t *testing.T) {
	pods := arrivals(2, 300, 1.2, 1) // 8 of 24 cores
	for _, test := range []struct {
		name      string
		s         sim.Spazio
		other     node.Power
		low, high float64
	}{
		{"not at all", byEnergy(0, energy.Marginal), large, .4, .6},
		{"marginal", byEnergy(.5, energy.Marginal), large, .8, 1},
		{"marginal, alone", byEnergy(1, energy.Marginal), large, .85, 1},
		{"remaining", byEnergy(.5, energy.Remaining), large, 0, .4},
		{"nothing known", byEnergy(.5, energy.Marginal), node.Power{}, .35, .65},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := sim.Config{Nodes: 6, Machines: machines(small, test.other), Scheduler: test.s, Seed: 2}
			if got := shareOf(run(t, c, pods)); got < test.low || got > test.high {
				t.Errorf("%.2f of the pods on the first kind of nodes, want %v to %v", got, test.low, test.high)
			}
		})
	}
}

// Empty nodes that count as asleep are left alone while others have room.
func TestIdleNodesPowerDown(t *testing.T) {
	for seed := range uint64(3) {
		pods := arrivals(seed, 150, 3, 1) // 3 of 24 cores
		c := sim.Config{Nodes: 6, Machines: machines(small), Scheduler: byEnergy(.5, energy.Marginal), Seed: seed}
		awake := run(t, c, pods)
		c.Scheduler = lettingSleep(.5)
		asleep := run(t, c, pods)
		if a, b := asleep.Energy.IfEmptySlept(), awake.Energy.IfEmptySlept(); a > .85*b {
			t.Errorf("seed %d: %.0f J if empty nodes slept, %.0f where nobody heeds it", seed, a, b)
		}
	}
}

// lettingSleep treats empty nodes as asleep.
func lettingSleep(weight float64) sim.Spazio {
	s := byEnergy(weight, energy.Marginal)
	s.IdleNodesPowerDown = true
	return s
}

// A sleeping node takes 15 W to wake and 20 W a core, the one that is awake 52.5 W a core:
// pods of less than .46 cores stay where others are, larger ones are worth a node of
// their own.
func TestWhatAPodTakesSaysWhetherToWakeANode(t *testing.T) {
	for _, test := range []struct {
		cores float64
		woken bool
	}{{.1, false}, {.2, false}, {.8, true}, {1, true}} {
		pods := []sim.Pod{{On: 1, Work: 240, Cores: .2, Workload: "anchor"}}
		for i := range 20 {
			pods = append(pods, sim.Pod{Created: 60 + 40*float64(i), Work: 25 * test.cores, Cores: test.cores, Workload: "job", Startup: 1})
		}
		machines := machines(large, node.Power{Idle: 15, Max: 95})
		// Until it has had a load, the power of one more core there is unknown.
		pods = append(pods, sim.Pod{On: 2, Work: 100, Cores: 4, Threads: 4, Workload: "other"})
		r := run(t, sim.Config{Nodes: 2, Machines: machines, Scheduler: lettingSleep(1), Seed: 8}, pods)
		for i, record := range r.Records[3:21] {
			if woken := record.Node == 1; woken != test.woken {
				t.Errorf("%v cores: pod %d is on node %d", test.cores, i+2, record.Node)
			}
		}
	}
}

// Pods in flight take watts that nodes do not show yet: of two equal nodes none gets a whole burst.
func TestCoresInFlightTakeWatts(t *testing.T) {
	var pods []sim.Pod
	for burst := range 12 {
		for range 4 {
			pods = append(pods, sim.Pod{Created: 60 * float64(burst), Work: 5, Cores: .5, Workload: "job", Startup: 4})
		}
	}
	r := run(t, sim.Config{Nodes: 2, Machines: machines(small), Scheduler: byEnergy(1, energy.Remaining), Seed: 4}, pods)
	for burst := 2; burst < 12; burst++ {
		second := 0
		for _, record := range r.Records[4*burst : 4*burst+4] {
			second += record.Node
		}
		if second == 0 || second == 4 {
			t.Errorf("burst %d: %d of 4 pods on the second node", burst, second)
		}
	}
}

// A node's outdated report of power does not count.
func TestPowerGrowsOld(t *testing.T) {
	pods := arrivals(4, 120, 1.2, 1)
	var records [2][]sim.Record
	for i, weight := range []float64{0, .5} {
		s := byEnergy(weight, energy.Marginal)
		s.Freshness = reserve.Freshness{Policy: reserve.Allow, MaxAge: time.Nanosecond}
		records[i] = run(t, sim.Config{Nodes: 6, Machines: machines(small, large), Scheduler: s, Seed: 4}, pods).Records
	}
	if diff := cmp.Diff(records[0], records[1]); diff != "" {
		t.Errorf("(-without energy +with):\n%s", diff)
	}
}

// A pod that is idle for seconds is measured, too.
func TestPodsThatRest(t *testing.T) {
	pods := append(arrivals(5, 20, 2, 1), sim.Pod{On: 1, Server: node.Server{Rate: .05, Work: .01}})
	r := run(t, sim.Config{Nodes: 2, Machines: machines(small, large), Scheduler: byEnergy(.5, energy.Marginal), Seed: 5}, pods)
	for i, record := range r.Records[:20] {
		if record.Done < 0 {
			t.Errorf("pod %d: %+v", i, record)
		}
	}
}

// A workload's measured pods predict the next one: sixteen of a quarter of a core fit the node that
// is best for them.
func TestPodsAreExpectedToTakeWhatTheyTook(t *testing.T) {
	pods := make([]sim.Pod, 22)
	for i := range pods {
		pods[i] = sim.Pod{Created: 20 * float64(i), Work: 200, Cores: .2, Workload: "small", Startup: 1}
	}
	c := sim.Config{Nodes: 2, Machines: machines(small, large), Scheduler: byEnergy(1, energy.Marginal), Seed: 6}
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
		c := sim.Config{Nodes: 4, Machines: machines(small, large), Scheduler: byEnergy(.5, energy.Marginal), Seed: 9}
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

// The counter of a node that takes more than a megawatt in ten minutes wraps, and the default bound
// of a meter does not apply.
func TestLargeNodes(t *testing.T) {
	c := sim.Config{Nodes: 4, Machines: machines(node.Power{Idle: 500, Max: 2500}, node.Power{Idle: 900, Max: 6000}), Scheduler: byEnergy(.5, energy.Marginal), Seed: 2}
	if got := shareOf(run(t, c, arrivals(2, 200, 1.5, 1))); got < .75 {
		t.Errorf("%.2f of the pods on the thrifty nodes", got)
	}
}

func TestEnergyObjectiveRefused(t *testing.T) {
	_, err := sim.Run(t.Context(), sim.Config{Nodes: 1, Scheduler: sim.Spazio{EnergyObjective: 2}}, []sim.Pod{{Work: 1}})
	var refused *field.Error
	if !errors.As(err, &refused) || refused.Field != "EnergyObjective" {
		t.Errorf("%v", err)
	}
}
