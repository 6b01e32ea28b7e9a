package experiment

import (
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Energy is the group of the experiments on energy, for ByGroup.
const Energy = "energy"

// Names of what Spazio that places by energy is compared with.
const (
	// blind is Spazio that does not.
	blind = "energy-0"
	// sleeping takes a node without pods for asleep.
	sleeping = "energy-sleep"
	// remainingWatts prefers the node with most watts left, at the same weight.
	remainingWatts = "exec-0.5"
	mostAllocated  = "most-allocated"
	peaks          = "peaks"
)

// energyWeight is that of Spazio in these experiments.
const energyWeight = .5

var energySaving = sim.Spazio{}.WithEnergy(energyWeight, energy.Marginal)

var powered = []namedScheduler{
	{blind, "Spazio that heeds no energy", withEnergy(0, energy.Marginal)},
	{"energy-0.25", "Spazio, marginal watts weighing a quarter", withEnergy(.25, energy.Marginal)},
	{"energy-1", "Spazio, marginal watts alone", withEnergy(1, energy.Marginal)},
	{sleeping, "Spazio, marginal watts weighing a half, empty nodes taken for asleep", func(p Params) sim.Scheduler {
		s := p.spazio.WithEnergy(energyWeight, energy.Marginal)
		s.IdleNodesPowerDown = true
		return s
	}},
	{"exec-0.25", "Spazio, ExEC's remaining watts weighing a quarter", withEnergy(.25, energy.Remaining)},
	{remainingWatts, "Spazio, ExEC's remaining watts weighing a half", withEnergy(.5, energy.Remaining)},
	{"exec-1", "Spazio, ExEC's remaining watts alone", withEnergy(1, energy.Remaining)},
	{mostAllocated, "kube-scheduler, whose NodeResourcesFit packs", func(Params) sim.Scheduler { return sim.MostAllocated{} }},
	{peaks, "PEAKS with the true power of each node, on metrics-server", func(Params) sim.Scheduler { return sim.Peaks{} }},
}

func withEnergy(weight float64, o energy.Objective) func(Params) sim.Scheduler {
	return func(p Params) sim.Scheduler { return p.spazio.WithEnergy(weight, o) }
}

// energyField are what the experiments on energy compare.
func energyField() []string {
	names := []string{Spazio}
	for _, s := range powered {
		names = append(names, s.Name)
	}
	return append(names, Default)
}

// What nodes take: a small one, and an old one that does the same at more than twice the
// watts.
var (
	frugal   = node.Power{Idle: 40, Max: 120}
	wasteful = node.Power{Idle: 90, Max: 300}
	// concave takes more of its power early, as Fan et al. found.
	concave = node.Power{Idle: 40, Max: 120, Shape: 1.4}
)

// taking is the experiment's cluster of nodes that take so much, in turn.
func (p Params) taking(powers ...node.Power) sim.Config {
	c := p.cluster()
	for _, w := range powers {
		m := c.Node
		m.Power = w
		c.Machines = append(c.Machines, m)
	}
	return c
}

// arriving are pods of one workload that arrive at a steady rate on nodes that take so
// much.
func arriving(r workload.Requests, powers ...node.Power) func(Params, uint64) (sim.Config, []sim.Pod, error) {
	return func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
		c := p.taking(powers...)
		pods, err := workload.Poisson(seed, p.load, p.cores(), p.work, p.Duration, p.law)
		if err != nil {
			return c, nil, err
		}
		name(pods, "arrivals")
		pods, err = workload.Declare(seed, pods, r, p.largest())
		return c, pods, err
	}
}

// onEnergy is an experiment of arrivals.
func onEnergy(name, alias, title, question string, loads []float64, build func(Params, uint64) (sim.Config, []sim.Pod, error)) Experiment {
	return Experiment{
		Name: name, alias: alias, Title: title, Question: question,
		defaults: Params{Duration: 300, law: workload.Equal, spazio: energySaving}, schedulers: energyField(), chosen: true,
		sweep: Sweep{Work: []float64{10}, Load: loads, Fleet: on19},
		build: build,
	}
}

var energies = []Experiment{
	onEnergy("energy-unlike-nodes", "e1", "Arrivals on nodes that differ in power",
		"Ten nodes of 40 to 120 W and nine of 90 to 300 W, and pods of 10 s that declare nothing: how much energy does it save to place by it, and what does it cost the pods?",
		[]float64{.3, .5, .8}, arriving(workload.RequestNone, frugal, wasteful)),
	onEnergy("energy-requests", "e2", "The same pods, declared",
		"As energy-unlike-nodes, but each pod requests the core that it takes: what is left to gain over those who believe requests?",
		[]float64{.3, .5, .8}, arriving(workload.RequestRight, frugal, wasteful)),
	onEnergy("energy-alike-nodes", "e3", "Arrivals on nodes that are alike",
		"All nodes take 40 to 120 W, in proportion to their load: then no placement saves anything while all are on, and a scheduler that reports savings is wrong.",
		[]float64{.5}, arriving(workload.RequestNone, frugal)),
	onEnergy("energy-concave", "e4", "Arrivals on nodes that are alike and take most of their power early",
		"All nodes take 40 W + 80 W·(2u − u^1.4) at a load u: what does it save to load the loaded?",
		[]float64{.5}, arriving(workload.RequestNone, concave)),
	{
		Name: "energy-batch", alias: "e5", Title: "A batch on nodes that differ in power",
		Question: "The nodes of energy-unlike-nodes and thirteen pods a core at once: what is there to save where all nodes are needed?",
		defaults: Params{spazio: energySaving}, perCore: batchPerCore, schedulers: energyField(), chosen: true,
		sweep: Sweep{Work: []float64{10}, Law: workload.Laws(), Fleet: on19},
		build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
			pods, err := workload.Batch(seed, p.Pods, p.work, p.law)
			name(pods, "batch")
			return p.taking(frugal, wasteful), pods, err
		},
	},
}

// energyTargets are what placing by energy should reach with what agents have learnt.
var energyTargets = []target{
	{in("energy-unlike-nodes").atLoad(.3), "energy", ratioToDefault, false, .88},
	{in("energy-unlike-nodes").atLoad(.5), "energy", ratioToDefault, false, .9},
	{in("energy-unlike-nodes").atLoad(.8), "energy", ratioToDefault, false, .99},
	{in("energy-unlike-nodes"), "slowdown_p99", ratioToDefault, false, 1.05},
	{in("energy-alike-nodes"), "energy", ratioToDefault, false, 1.01},
	{in("energy-alike-nodes"), "energy", ratioToDefault, true, .99},
	{in("energy-concave"), "energy", ratioToDefault, false, .97},
}

// ofEnergy reports whether a scheduler is Spazio with another weight or objective.
func ofEnergy(scheduler string) bool {
	for _, s := range powered {
		if s.Name == scheduler {
			return s.Name != mostAllocated && s.Name != peaks
		}
	}
	return false
}
