package experiment

import (
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Names of the schedulers that others are compared with.
const (
	Spazio = "spazio"
	// reserving is Spazio where an operator has set a reserve for servers.
	reserving = "spazio-reserve"
	Default   = "default"
	// requestsRight is Default where every pod's owner knows what it needs.
	requestsRight = "requests-right"
	// RequestsP98 is Default where they know what most of their pods need at most.
	RequestsP98 = "requests-p98"
	// limitRange is Default where all pods request the same, batchResources where Koordinator
	// counts correct requests.
	limitRange     = "limit-range"
	kueue          = "kueue"
	batchResources = "batch-resources"
	// Pronto is the thesis's point of departure, ProntoCoin what its rejections are worth.
	Pronto        = "pronto"
	ProntoCoin    = "pronto-coin"
	requestsWrong = "requests-wrong"
	// centralQueue and lowerBound are computed, see package sim; the bound has
	// rows of the makespan and the mean sojourn alone.
	centralQueue = "central-queue"
	lowerBound   = "lower-bound"
	// Idle runs alone what a workload has on its nodes from the start, such as servers.
	Idle = "idle"
)

// namedScheduler is a scheduler with its name and a line on it.
type namedScheduler struct {
	Name, About string
	make        func(p Params) sim.Scheduler // nil for what places no pods
}

var schedulers = []namedScheduler{
	{Spazio, "this repository's, with its defaults and what was set", func(p Params) sim.Scheduler { return p.spazio }},
	{reserving, "the same, with half of the CPU kept free on nodes that run servers", func(p Params) sim.Scheduler {
		p.spazio.ServerReserve = .5
		return p.spazio
	}},
	{Default, "kube-scheduler's default profile", kube},
	{requestsRight, "the default profile, where each pod requests what it needs", kube},
	{RequestsP98, "the default profile, where each pod requests the 98th percentile of its owner's pods", kube},
	{requestsWrong, "the default profile, where pods request nothing, thrice or a third of what they use", kube},
	{limitRange, "the default profile, where pods that request nothing request what all pods need in the mean", kube},
	{kueue, "the same as requests-right behind a queue, Kueue's, whose quota is what nodes have", func(Params) sim.Scheduler { return sim.Kueue{} }},
	{"target-load-packing", "Trimaran's TargetLoadPacking, on load-watcher", func(Params) sim.Scheduler { return sim.TargetLoadPacking{} }},
	{"target-load-packing-ms", "the same on metrics-server", func(Params) sim.Scheduler { return sim.TargetLoadPacking{Latest: true} }},
	{"target-load-packing-tuned", "the same every 15 s, with a target of 80 %", func(Params) sim.Scheduler {
		return sim.TargetLoadPacking{Latest: true, Refresh: 15, Target: 80}
	}},
	{"load-variation", "Trimaran's LoadVariationRiskBalancing, on load-watcher", func(Params) sim.Scheduler { return sim.LoadVariationRiskBalancing{} }},
	{"load-variation-ms", "the same on metrics-server", func(Params) sim.Scheduler { return sim.LoadVariationRiskBalancing{Latest: true} }},
	{"load-variation-tuned", "the same every 15 s", func(Params) sim.Scheduler {
		return sim.LoadVariationRiskBalancing{Latest: true, Refresh: 15}
	}},
	{"low-risk", "Trimaran's LowRiskOverCommitment, on load-watcher", func(Params) sim.Scheduler { return sim.LowRiskOverCommitment{} }},
	{"low-risk-ms", "the same on metrics-server", func(Params) sim.Scheduler { return sim.LowRiskOverCommitment{Latest: true} }},
	{"load-aware", "Koordinator's LoadAware", func(Params) sim.Scheduler { return sim.LoadAware{} }},
	{"load-aware-tuned", "the same, refusing above 95 % of the CPU, with reports every 10 s", tunedLoadAware},
	{batchResources, "Koordinator's batch resources, where each pod requests what it needs of them", func(Params) sim.Scheduler {
		return sim.LoadAware{Batch: true}
	}},
	{"round-robin", "the next node that fits", func(Params) sim.Scheduler { return sim.RoundRobin{} }},
	{"two-choices", "of two nodes drawn that which uses less, on metrics-server", func(Params) sim.Scheduler { return sim.TwoChoices{} }},
	{"coin", "any node that fits", func(Params) sim.Scheduler { return sim.Coin{} }},
	{Pronto, "Pronto's rejection signal, federated, beside the default profile", func(Params) sim.Scheduler { return sim.Pronto{} }},
	{ProntoCoin, "the same, by a coin that comes up as often", prontoWith(func(p *sim.Pronto) { p.ByChance = true })},
	{"source", "Spazio as the thesis has it, without guards", func(Params) sim.Scheduler { return source(0) }},
	{"source-signal", "the same, never above the signal", func(Params) sim.Scheduler { return source(1) }},
	{"source-pooled", "the same, costs pooled with the fleet's", func(Params) sim.Scheduler { return source(2) }},
	{"source-cautious", "the same, costs raised by a deviation", func(Params) sim.Scheduler { return source(3) }},
	{centralQueue, "one queue before all cores, first come, first served; starts cost nothing", nil},
	{lowerBound, "what no scheduler can beat, of makespan and mean sojourn", nil},
}

// declares is what pods declare under a scheduler, in the place of what the experiment
// has them declare.
var declares = map[string]workload.Requests{
	requestsRight: workload.RequestRight,
	RequestsP98:   workload.RequestP98,
	requestsWrong: workload.RequestMixed,

	limitRange:     workload.RequestMean,
	kueue:          workload.RequestRight,
	batchResources: workload.RequestRight,
}

func kube(Params) sim.Scheduler { return sim.Default{} }

// tunedLoadAware was chosen on seeds for tuning. Shorter windows than Koordinator's 300 s gain
// nothing.
func tunedLoadAware(Params) sim.Scheduler {
	return sim.LoadAware{Plugin: baseline.LoadAware{CPUThreshold: .95}, Interval: 10}
}

// Schedulers lists all; after the variants of the source and what places no pods come
// those of the experiments on profiles, on energy and on relief.
func Schedulers() []namedScheduler {
	return slices.Concat(schedulers, profiled, recommenders(), powered, relieving)
}

// defaultSchedulers is what experiments compare by default: all but variants, and of the other groups' those
// that operators have.
func defaultSchedulers() []string {
	var names []string
	for _, s := range schedulers {
		if !strings.HasPrefix(s.Name, "source") && s.Name != reserving && s.Name != ProntoCoin {
			names = append(names, s.Name)
		}
	}
	return append(names, mostAllocated, recommender+"vpa", recommenderOnline+"vpa")
}

// Leading are the schedulers that answer an experiment's question: this one, what
// it is compared with and what bounds it, and of the peers one of each kind. The
// rest of those that experiments compare by default are variants of them.
func Leading() []string {
	return []string{
		Spazio, Default, requestsRight, limitRange,
		"target-load-packing", "load-aware", "two-choices",
		centralQueue, lowerBound,
	}
}

// schedulerOf makes a scheduler or a variant by its name, for a case's parameters.
// The error is a *NameError, for what places no pods, too.
func schedulerOf(name string, p Params) (sim.Scheduler, error) {
	s, err := byName(name)
	if err != nil {
		return nil, err
	}
	if s.make == nil {
		return nil, &NameError{kind: "scheduler that places pods", name: name}
	}
	return s.make(p), nil
}

func byName(name string) (namedScheduler, error) {
	for _, s := range slices.Concat(schedulers, profiled, recommenders(), powered, relieving, variants) {
		if s.Name == name {
			return s, nil
		}
	}
	return namedScheduler{}, &NameError{kind: "scheduler", name: name, known: namesOf(Schedulers(), func(s namedScheduler) string { return s.Name })}
}
