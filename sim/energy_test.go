package sim_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

var (
	small = node.Power{Idle: 40, Max: 120}
	large = node.Power{Idle: 90, Max: 300}
)

// machines returns nodes of these powers.
func machines(powers ...node.Power) (all []node.Params) {
	for _, p := range powers {
		all = append(all, node.Params{Power: p})
	}
	return all
}

// Energy counts from the workload's start, for each node by its own power.
func TestMachinesInTurn(t *testing.T) {
	pods := []sim.Pod{{Work: 30, On: 2}}
	r := run(t, sim.Config{Nodes: 3, Machines: machines(small, large), Scheduler: sim.Default{}, Warmup: 7, Seed: 1}, pods)
	if want := (40 + 90 + 40) * (r.Span - 7); math.Abs(r.Energy.Idle-want) > 1e-6 {
		t.Errorf("%v J idle, want %v", r.Energy.Idle, want)
	}
	// The pod's core is a quarter of 210 W; daemons take the rest.
	load := (r.Span - 7) * 210 / 4
	if dynamic := r.Energy.Dynamic(); dynamic < load || dynamic > 1.1*load {
		t.Errorf("%v J of load, want a little more than %v", dynamic, load)
	}
	if slept := r.Energy.IfEmptySlept(); slept < load+90*(r.Span-7) || slept > 1.1*load+90*(r.Span-7) {
		t.Errorf("%v J if the two others slept", slept)
	}
}

func TestMachinesRefused(t *testing.T) {
	for _, test := range []struct {
		name     string
		c        sim.Config
		which    string
		sentinel error
	}{
		{"other cores", sim.Config{Machines: []node.Params{{Power: small}, {Cores: 8, Power: small}}}, "Machines[1]", sim.ErrInvalid},
		{"other noise", sim.Config{Node: node.Params{Noise: .02}, Machines: machines(small)}, "Machines[0]", sim.ErrInvalid},
		{"a power that is none", sim.Config{Machines: machines(small, small, node.Power{Idle: 2, Max: 1})}, "Power.Idle", node.ErrInvalid},
		{"a node's power that is none", sim.Config{Node: node.Params{Power: node.Power{Max: -1}}}, "Power.Max", node.ErrInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := sim.Run(t.Context(), test.c, []sim.Pod{{Work: 1}})
			var ours *field.Error
			var theirs *field.Error
			which := ""
			switch {
			case errors.As(err, &ours):
				which = ours.Field
			case errors.As(err, &theirs):
				which = theirs.Field
			}
			if which != test.which || !errors.Is(err, test.sentinel) {
				t.Errorf("%v, want %s refused", err, test.which)
			}
		})
	}
	same := sim.Config{Nodes: 2, Node: node.Params{Cores: 8}, Machines: []node.Params{{Cores: 8, Memory: 32 << 30, Power: large}}, Seed: 1}
	if r := run(t, same, []sim.Pod{{Work: 1}}); r.Energy.Joules == 0 || r.Cores != 16 {
		t.Errorf("%+v, %v cores", r.Energy, r.Cores)
	}
}

// Nodes with power behave as without.
func TestPowerChangesNoDecision(t *testing.T) {
	pods := mixed(11, 80)
	for _, s := range all {
		if _, minds := s.(sim.Peaks); minds {
			continue
		}
		c := sim.Config{Nodes: 4, Scheduler: s, Seed: 11}
		want := run(t, c, pods)
		c.Machines = machines(small, large)
		got := run(t, c, pods)
		if diff := cmp.Diff(want.Records, got.Records, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			t.Errorf("%T: (-without +with power):\n%s", s, diff)
		}
		if want.Energy != (sim.Energy{}) || !(got.Energy.Joules > got.Energy.Idle && got.Energy.Idle > 0) {
			t.Errorf("%T: energy %+v and %+v", s, want.Energy, got.Energy)
		}
	}
}

// The figures follow from the joules, the pods that ended and, until the end of the run, those that did not.
func TestEnergyMetrics(t *testing.T) {
	r := sim.Result{
		Pods:    []sim.Pod{{Work: 1}, {Created: 10, Work: 1}, {Work: 1}},
		Records: []sim.Record{{Running: 1, Done: 4}, {Running: 12, Done: 18}, {Running: 5, Done: -1}},
		Cores:   4, Nodes: 1, Span: 30, End: 25,
		Energy: sim.Energy{Joules: 9000, Idle: 4000, Empty: 1500},
	}
	want := map[string]float64{"energy": 9, "energy_dynamic": 5, "energy_if_empty_slept": 7.5, "energy_pod": 4500, "edp": 9 * (4. + 8 + 25) / 3}
	got := metricsOf(r)
	for name, value := range want {
		if math.Abs(got[name]-value) > 1e-12 {
			t.Errorf("%s %v, want %v", name, got[name], value)
		}
	}
	r.Energy = sim.Energy{}
	for name := range metricsOf(r) {
		if _, ok := want[name]; ok {
			t.Errorf("%s without a power", name)
		}
	}
	r = sim.Result{Pods: r.Pods[2:], Records: r.Records[2:], Cores: 4, Nodes: 1, Span: 30, Energy: sim.Energy{Joules: 10}}
	got = metricsOf(r)
	if _, ok := got["energy_pod"]; ok || got["energy"] != .01 || got["edp"] != 0 {
		t.Errorf("nothing ended: %v", got)
	}
}

func metricsOf(r sim.Result) map[string]float64 {
	all := map[string]float64{}
	for _, m := range sim.Summarise(r) {
		all[m.Name] = m.Value
	}
	return all
}

// A profile that packs fills the node that it used first.
func TestMostAllocatedPacks(t *testing.T) {
	pods := fewPods(30, 1, .2)
	for i := range pods {
		pods[i].Work, pods[i].Cores = 2, .05
	}
	for seed := range uint64(3) {
		r := run(t, sim.Config{Nodes: 2, Scheduler: sim.MostAllocated{}, Seed: seed}, pods)
		if n := onFirst(r); n != 0 && n != len(pods) {
			t.Errorf("seed %d: %d of %d pods on the first node", seed, n, len(pods))
		}
	}
	// Pods of two of three cores do not fit side by side: a full node is left.
	pods = []sim.Pod{{Work: 9, Request: baseline.Resources{CPU: 3}}, {Created: 1, Work: 9, Request: baseline.Resources{CPU: 3}}}
	r := run(t, sim.Config{Nodes: 2, Scheduler: sim.MostAllocated{}, Seed: 1}, pods)
	if r.Records[0].Node == r.Records[1].Node {
		t.Errorf("both on node %d", r.Records[0].Node)
	}
}

// PEAKS prefers the node where a pod with requests raises the power least, by the true or a
// configured power; without a request all are equal; and a full node is the best of all.
func TestPeaks(t *testing.T) {
	declared := fewPods(40, 200, 1)
	hidden := make([]sim.Pod, len(declared))
	for i, p := range declared {
		p.Request = baseline.Resources{}
		hidden[i] = p
	}
	for _, test := range []struct {
		name       string
		s          sim.Peaks
		c          sim.Config
		pods       []sim.Pod
		low, high  int // pods on the first node
		background []sim.Series
	}{
		{"true power", sim.Peaks{}, sim.Config{Machines: machines(large, small)}, declared, 0, 0, nil},
		{"the other way round", sim.Peaks{}, sim.Config{Machines: machines(small, large)}, declared, 40, 40, nil},
		{"nothing declared", sim.Peaks{}, sim.Config{Machines: machines(small, large)}, hidden, 10, 30, nil},
		{"a full node", sim.Peaks{}, sim.Config{Machines: machines(large, small)}, declared, 40, 40, loads(1, []float64{4}, []float64{0})},
		{"concave power", sim.Peaks{}, sim.Config{Node: node.Params{Power: node.Power{Idle: 40, Max: 120, Shape: 1.4}}}, declared, 40, 40, loads(1, []float64{2}, []float64{0})},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := test.c
			c.Nodes, c.Scheduler, c.Background, c.Seed = 2, test.s, test.background, 4
			if got := onFirst(run(t, c, test.pods)); got < test.low || got > test.high {
				t.Errorf("%d of 40 pods on the first node, want %d to %d", got, test.low, test.high)
			}
		})
	}
}
