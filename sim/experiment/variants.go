package experiment

import (
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// Variants lists the schedulers that the findings compare beside those of
// Schedulers: the thesis's with one part replaced, and with one part changed the scheduler
// "reference", which states every constant that matters to the findings.
func Variants() []namedScheduler { return slices.Clone(variants) }

// reference is the name of what the findings vary: a configuration that says every constant
// that matters to them, so that tuning the defaults does not move them. It has
// no allowance for start-ups (capacity.StartupAllowance).
const reference = "reference"

var variants = []namedScheduler{
	{reference, "Spazio in a stated configuration", func(Params) sim.Scheduler { return referenceSpazio() }},

	{"source-headroom", "source in absolute headroom", literally(func(s *sim.Scalar) { s.TypicalLoads = false })},
	{"source-headroom-signal", "the same, never above the signal", guarded(1)},
	{"source-headroom-pooled", "the same, costs pooled with the fleet's", guarded(2)},
	{"source-headroom-cautious", "the same, costs raised by a deviation", guarded(3)},
	{"source-channels", "source, a cost a channel", func(Params) sim.Scheduler { return source(0).Spazio }},
	{"source-ledger", "source, pods in flight until a report absorbs them", literally(func(s *sim.Scalar) { s.Literal = false })},
	{"source-centred", "source, the centred filter", literally(func(s *sim.Scalar) { s.Agent.Estimator.Method = "" })},
	{"source-events", "source, reports on events", literally(func(s *sim.Scalar) { s.Agent.MinInterval = 0 })},
	{"source-merged", "source, models merged by node", literally(func(s *sim.Scalar) { s.Aggregate.Policy = thesis.PerNode })},
	{"source-headroom-floored", "source-headroom, no cost below an eighth of the first", literally(func(s *sim.Scalar) {
		s.TypicalLoads = false
		s.Agent.Estimator.Floor = kalman.DefaultFloor
	})},
	{"source-cold-1", "source, one pod a core at first", literally(func(s *sim.Scalar) { s.Agent.PodsPerCore = 1 })},
	{"source-cautious-open", "source-cautious, an empty node offers a pod", func(Params) sim.Scheduler {
		s := source(3)
		s.Agent.Avail.FloorBelow = capacity.DefaultFloorBelow
		return s
	}},

	{"blocks-alone", "reference, reports with the blocks alone", changed(func(s *sim.Spazio, _ Params) { s.Agent.MinInterval = time.Hour })},
	{"allowance-1", "reference, ahead by start-up over run time", changed(allowance(1))},
	{"allowance-2", "reference, twice as far ahead", changed(allowance(2))},
	{"cold-2", "reference, two pods a core at first", changed(func(s *sim.Spazio, _ Params) { s.Agent.PodsPerCore = 2 })},
	{"cold-2-at-once", "the same, any number of pods in flight", changed(func(s *sim.Spazio, _ Params) {
		s.Agent.PodsPerCore = 2
		s.Rules.Burst = 1e6
	})},
	{"no-floor", "reference, an empty node may offer nothing", changed(func(s *sim.Spazio, _ Params) { s.Agent.Avail.FloorBelow = capacity.NoFloor })},
	{"no-slow-start", "reference, any number of pods in flight", changed(func(s *sim.Spazio, _ Params) { s.Rules.Burst = 1e6 })},
	{"unguarded", "reference, ahead of confirmation even when full, any number in flight", changed(func(s *sim.Spazio, p Params) {
		allowance(1)(s, p)
		s.Agent.Avail.Saturation = capacity.NeverSaturated
		s.Rules.Burst = 1e6
	})},
	{"over-provision", "reference, ahead as the first draft has it: a pod more while pods do not take longer, else half", func(Params) sim.Scheduler {
		return sim.OverProvision{Spazio: referenceSpazio()}
	}},
	{"over-provision-open", "the same, even when full", func(Params) sim.Scheduler {
		s := sim.OverProvision{Spazio: referenceSpazio()}
		s.Agent.Avail.Saturation = capacity.NeverSaturated
		return s
	}},
	{"scalar", "reference, one cost a node along u₁", func(Params) sim.Scheduler { return sim.Scalar{Spazio: referenceSpazio()} }},

	{"pronto-alone", "pronto, each node on its own", prontoWith(func(p *sim.Pronto) { p.NoFleet = true })},
	{"pronto-energy", "pronto, peaks weighed by the variance of their direction", prontoWith(func(p *sim.Pronto) { p.Tracker.Weight = pronto.WeightEnergy })},
	{"pronto-signed", "pronto, peaks below the mean against those above", prontoWith(func(p *sim.Pronto) { p.Tracker.Signed = true })},
	{"pronto-utilisation", "pronto on utilisation and memory, as the first draft", prontoWith(func(p *sim.Pronto) { p.Metrics = sim.UtilisationMetrics })},
	{"pronto-each", "pronto on utilisation, waiting threads, pressure and memory", prontoWith(func(p *sim.Pronto) { p.Metrics = sim.EachMetric })},
	{"pronto-lasting", "pronto, a rejection stands for five seconds", prontoWith(lasting)},
	{"pronto-lasting-coin", "the same, by a coin that comes up as often", prontoWith(func(p *sim.Pronto) {
		lasting(p)
		p.ByChance = true
	})},
}

func prontoWith(change func(*sim.Pronto)) func(Params) sim.Scheduler {
	return func(Params) sim.Scheduler {
		var p sim.Pronto
		change(&p)
		return p
	}
}

// lasting has a rejection stand for as long as most pods take to start.
func lasting(p *sim.Pronto) { p.Tracker.Window = 5 * time.Second }

// source is the thesis's algorithm, literally: one pair of scalar filters a node
// that share an innovation, on k along u₁ in units of the typical load, halted
// while containers churn and where k is 0; the switch between its two equations,
// n₀ = n; no caution, no floor, no heed of saturation; two pods a core at first;
// reports with the blocks alone; models merged in order of arrival; a counter of
// reserved pods and no bound on it; avail as the whole score; pods wait for ever. Each guard adds one
// remedy to those before.
func source(guards int) sim.Scalar {
	s := sim.Scalar{
		Spazio: sim.Spazio{
			Agent: agent.Config{
				PodsPerCore: 2,
				Settle:      time.Nanosecond,
				MinInterval: time.Hour,
				Constants: pipeline.Constants{
					Avail: thesis.Avail(), NoCoreSlots: true,
					Allowance: capacity.AllowanceOptions{MostPerSlot: capacity.NoAllowance},
					Estimator: pipeline.EstimatorConfig{
						Method: thesis.Naive,
						Config: kalman.Config{Gate: kalman.NoGate, Saturation: kalman.NeverSaturated, Known: 1, Floor: 1e-6},
					},
					Homogeneous:  true,
					PauseOnChurn: true, ChurnHold: time.Second, ChurnCap: 24 * time.Hour,
					InitLead: time.Nanosecond,
				},
			},
			Aggregate: thesis.AggregateConfig{Policy: thesis.Sequential},
			Rules:     reserve.Rules{MinFreePods: 1, Burst: 1e6},
			Ranking:   reserve.Ranking{TieTolerance: 1e-9},
			Overdue:   reserve.OverdueAdmission{Off: true},
			Weight:    1e6,
			NoPooling: guards < 2,
		},
		TypicalLoads: true,
		Literal:      true,
	}
	if guards >= 1 {
		s.Agent.Avail.Rule = "" // the lower of both
	}
	if guards >= 3 {
		s.Agent.Avail.Caution = capacity.DefaultCaution
	}
	return s
}

func guarded(guards int) func(Params) sim.Scheduler {
	return func(Params) sim.Scheduler {
		s := source(guards)
		s.TypicalLoads = false
		return s
	}
}

func literally(change func(*sim.Scalar)) func(Params) sim.Scheduler {
	return func(Params) sim.Scheduler {
		s := source(0)
		change(&s)
		return s
	}
}

func referenceSpazio() sim.Spazio {
	return sim.Spazio{
		Agent: agent.Config{
			PodsPerCore: 1,
			Settle:      600 * time.Millisecond,
			MinInterval: 100 * time.Millisecond,
			Constants: pipeline.Constants{
				Avail:     pipeline.AvailConfig{AvailOptions: capacity.AvailOptions{Caution: 1, Saturation: .98, FloorBelow: .5}},
				Allowance: capacity.AllowanceOptions{MostPerSlot: capacity.NoAllowance}, NoCoreSlots: true,
				Estimator: pipeline.EstimatorConfig{
					Config: kalman.Config{PriorSD: .5, Gate: 9, Saturation: .98, Known: .25, Floor: .125},
				},
				Homogeneous:  true,
				PauseOnChurn: true, ChurnHold: time.Second, ChurnCap: 10 * time.Second,
			},
		},
		Rules:   reserve.Rules{MinFreePods: 1, Burst: 1, Growth: .5},
		Overdue: reserve.OverdueAdmission{Off: true},
		Weight:  5,
		Push:    1,
	}
}

func changed(change func(*sim.Spazio, Params)) func(Params) sim.Scheduler {
	return func(p Params) sim.Scheduler {
		s := referenceSpazio()
		change(&s, p)
		return s
	}
}

// startup is the mean latency of a start in seconds, which allowances take for
// granted.
const startup = 1.2

// allowance is that of a node that knows its pods: how many of the lightest it
// holds, by the part of a pod's life that is its start. A mix has pods of a tenth
// of a core.
func allowance(times float64) func(*sim.Spazio, Params) {
	return func(s *sim.Spazio, p Params) {
		pods := float64(p.Cores)
		if p.mixed {
			pods *= 10
		}
		s.Agent.Avail.Allowance = times * pods * startup / p.work
	}
}
