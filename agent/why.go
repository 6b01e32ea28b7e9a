package agent

import (
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/kalman"
)

// Trigger describes why a report left when it did.
type Trigger uint8

const (
	// OnFirst: the first sample shows that the node is there.
	OnFirst Trigger = iota
	// OnBlock: a block of samples was full.
	OnBlock
	// OnPods: the set of pods changed.
	OnPods
	// OnAvail: avail moved by a pod between two blocks.
	OnAvail
)

var triggers = [...]string{"first", "block", "pods", "avail"}

func (t Trigger) String() string {
	if int(t) < len(triggers) {
		return triggers[t]
	}
	return "unknown"
}

// MarshalText writes the trigger's name.
func (t Trigger) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Why explains one Report: every number it was made of, and what was decided.
// It is a plain value; package node puts it in words.
type Why struct {
	// Node, Incarnation, Sequence and SampledAt are those of the report, which
	// was made at ReportedAt for the sake of Trigger.
	Node        string    `json:"node"`
	Incarnation uint64    `json:"incarnation"`
	Sequence    uint64    `json:"sequence"`
	SampledAt   time.Time `json:"sampledAt"`
	ReportedAt  time.Time `json:"reportedAt"`
	Trigger     Trigger   `json:"trigger"`

	// Avail is that of the report, Allowance the part of it ahead of
	// confirmation. Floored reports that a light node was raised to one pod, and
	// Saturated that a full channel held it down to 0.
	Avail     float64 `json:"avail"`
	Allowance float64 `json:"allowance"`
	Floored   bool    `json:"floored"`
	Saturated bool    `json:"saturated"`
	// Limiting is the channel that bounds Avail and Mode the equation that does,
	// "signal", "model" or "slots", by the Rule of the configuration; both are
	// LimitingPronto where Pronto's signal decides.
	Limiting string `json:"limiting"`
	Mode     string `json:"mode"`
	Rule     string `json:"rule"`
	// Pods is n, the pods that run; Measured is n₀, those that the filtered
	// usage shows.
	Pods     int `json:"pods"`
	Measured int `json:"measured"`
	// Held are the pods that run, as far as is known, no container of their own
	// yet but init containers.
	Held int `json:"held"`

	Pace     WhyPace      `json:"pace"`
	Churn    WhyChurn     `json:"churn"`
	Model    WhyModel     `json:"model"`
	Fleet    WhyFleet     `json:"fleet"`
	Channels []WhyChannel `json:"channels"`
	Flags    Flags        `json:"flags"`
	// Pronto is nil unless Config.Pronto is set.
	Pronto *WhyPronto `json:"pronto,omitempty"`
	// Power is nil until power was measured.
	Power *WhyPower `json:"power,omitempty"`
}

// WhyPace is what the start-up allowance follows from.
type WhyPace struct {
	// Ends counts the pods that ended, recent ones for more; Run is their run time
	// in seconds, 0 while it is not known, and Startup the time from a bind to a
	// container's start.
	Ends    float64 `json:"ends"`
	Run     float64 `json:"runSeconds"`
	Startup float64 `json:"startupSeconds"`
	// Teardown is the time from a pod's last container to its end, which the
	// allowance bridges, too.
	Teardown float64 `json:"teardownSeconds"`
	// Slots is the number of pods that keep the node busy.
	Slots float64 `json:"slots"`
	// ShortLived reports that pods end before others start, so that a full CPU is no
	// veto. Off reports that the configuration has no allowance.
	ShortLived bool `json:"fleeting"`
	Off        bool `json:"off"`
	// TypicalCPU is the Report's.
	TypicalCPU float64 `json:"usualCores,omitzero"`
}

// WhyChurn is the churn window at the time of the report.
type WhyChurn struct {
	// Open reports that containers start or stop, so the estimator stands still.
	Open bool `json:"open"`
	// First and Last are the first and the last event of the newest window; zero
	// before any.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// WhyModel is the effective model: the node's own and the fleet's blended.
type WhyModel struct {
	// K is the signal in typical loads (thesis eq. 3.11), and Limiting the
	// channel that ends it; empty if none does.
	K        float64 `json:"k"`
	Limiting string  `json:"limiting"`
	// Sigma is σ₁ and Direction u₁, one element a channel; none before the first
	// block.
	Sigma     float64   `json:"sigma"`
	Direction []float64 `json:"direction"`
	// Blocks counts the full blocks so far, and Mass weighs those that the own
	// model still remembers.
	Blocks uint64  `json:"blocks"`
	Mass   float64 `json:"mass"`
}

// WhyFleet is what the aggregator's word counted for.
type WhyFleet struct {
	// Known reports that a fleet was set, Age how long before the report.
	Known bool          `json:"known"`
	Age   time.Duration `json:"ageNanoseconds"`
	// Share is γ as it was, faded by age, when the newest block was blended; 0
	// without a fleet's model. Mass is the mass of that model.
	Share float64 `json:"share"`
	Mass  float64 `json:"mass"`
}

// WhyChannel is one channel of a Why. Usages and headrooms are shares of the
// channel.
type WhyChannel struct {
	Name string `json:"name"`
	// Raw is the newest sample and Filtered is y, the same after the filter.
	Raw      float64 `json:"raw"`
	Filtered float64 `json:"filtered"`
	// Demand is q, one more typical load; Headroom is 1 − y.
	Demand   float64 `json:"demand"`
	Headroom float64 `json:"headroom"`
	// Verdict is what the estimator did with the newest block ("taken",
	// "frozen", "censored", "outlier"; empty before the first), Innovation ν is
	// what it had not expected and InnovationSD the standard deviation √S it
	// allowed for; both 0 where it tested nothing.
	Verdict      string  `json:"verdict"`
	Innovation   float64 `json:"innovation"`
	InnovationSD float64 `json:"innovationSD"`
	// Own is the estimate before pooling, Pooled the one that was used, and
	// FleetCost and FleetSD what it was pooled with, in shares of this node's
	// channel; 0 is unknown.
	Own       WhyEstimate `json:"own"`
	FleetCost float64     `json:"fleetCost"`
	FleetSD   float64     `json:"fleetSD"`
	Pooled    WhyEstimate `json:"pooled"`
	// CautiousCost is c⁺ = c + g·sd(c), Spread is g·σ of pods that differ and
	// Reserve the share that is to stay free. With U(h) the u of
	// u·c⁺ + √u·gσ = h, which is h/c⁺ without a spread, Signal is
	// U(h − reserve) + n₀ − n; Model is U(C − reserve − c·n), without a spread
	// (C − reserve)/c⁺ − n. Slots is how many pods of a core each the CPU takes
	// whatever its usage, beside those that idle, 0 where they take less; and Mode names which of the two, or
	// Slots − n, held for this channel.
	CautiousCost float64 `json:"cautiousCost"`
	Spread       float64 `json:"spread"`
	Reserve      float64 `json:"reserve"`
	Signal       float64 `json:"signal"`
	Model        float64 `json:"model"`
	Slots        float64 `json:"slots"`
	Mode         string  `json:"mode"`
	// Room is what the pods leave, and StartupAllowance the allowance, both as shares. Profiled
	// is how many of n have a profile, λ of each, and ProfiledUsage the share that they are
	// expected to take.
	Room             float64 `json:"room"`
	StartupAllowance float64 `json:"ahead"`
	Profiled         float64 `json:"known,omitzero"`
	ProfiledUsage    float64 `json:"taken,omitzero"`
}

// WhyEstimate is C, c and sd(c) of a channel; an unknown cost is the prior. C exceeds 1
// where the pods that run take less than c each; the Report has at most 1.
type WhyEstimate struct {
	Capacity float64 `json:"capacity"`
	Cost     float64 `json:"cost"`
	CostSD   float64 `json:"costSD"`
	Known    bool    `json:"known"`
}

func explain(e kalman.Estimate) WhyEstimate {
	return WhyEstimate{e.Capacity(), e.Cost, e.CostSD, e.Known}
}

// Why explains the last report; ok is false before the first. The pipeline
// keeps the numbers as it reports, without allocating, and copies them here.
func (p *Pipeline) Why() (w Why, ok bool) {
	if p.why.Sequence == 0 {
		return Why{}, false
	}
	w = p.why
	w.Channels = slices.Clone(w.Channels)
	w.Model.Direction = slices.Clone(w.Model.Direction)
	w.Pronto = w.Pronto.clone()
	w.Power = p.explainPower()
	return w, true
}

// remember keeps what the report r, just made, follows from.
func (p *Pipeline) remember(r *Report, at time.Time, t Trigger, a capacity.Avail, s capacity.Result) {
	w := &p.why
	w.Node, w.Incarnation, w.Sequence = r.Node, r.Incarnation, r.Sequence
	w.SampledAt, w.ReportedAt, w.Trigger = r.SampledAt, at, t
	w.Avail, w.Allowance, w.Floored, w.Saturated = a.Pods, a.Allowance, a.Floored, a.Saturated
	w.Limiting, w.Mode, w.Rule = r.Limiting, a.Mode.String(), p.config.Avail.Rule.String()
	pods := p.count(at)
	w.Pods, w.Measured, w.Held = p.pods.counted, int(pods.Measured), p.pods.held
	w.Pace = p.explainPace()
	w.Pace.TypicalCPU = r.TypicalCPU
	w.Churn = WhyChurn{Open: r.Flags.Churn, First: p.churn.first, Last: p.churn.last}
	w.Flags = r.Flags
	w.Fleet = WhyFleet{Known: p.fleet.costs != nil, Mass: p.fleet.model.Mass(), Share: p.blended}
	if w.Fleet.Known {
		w.Fleet.Age = at.Sub(p.fleet.at)
	}
	p.rememberModel(s)
	p.rememberPronto(w)
	p.rememberPower(r)
	for i := range w.Channels {
		p.rememberChannel(i)
		w.Channels[i].Room, w.Channels[i].StartupAllowance = r.Channels[i].Room, r.Channels[i].StartupAllowance
	}
}

func (p *Pipeline) explainPace() WhyPace {
	pace := p.pacing()
	w := WhyPace{
		Ends: pace.Ends, Startup: pace.Startup, Teardown: p.pace.teardown, Slots: p.slots,
		ShortLived: pace.ShortLived(), Off: p.allowsNone(),
	}
	if rate := pace.EndRate(); rate > 0 {
		w.Run = 1 / rate
	}
	return w
}

func (p *Pipeline) rememberModel(s capacity.Result) {
	m := &p.why.Model
	m.K, m.Limiting = s.K, ""
	if s.Limiting >= 0 {
		m.Limiting = p.config.Channels[s.Limiting].Name
	}
	m.Sigma, m.Blocks, m.Mass = p.effective.Sigma(0), p.blocks, p.model.Mass()
	m.Direction = p.effective.DirectionTo(m.Direction)
}

func (p *Pipeline) rememberChannel(i int) {
	used, room := p.channels[i], p.room[i]
	c := WhyChannel{
		Name: p.config.Channels[i].Name,
		Raw:  p.raw[i], Filtered: p.usage[i], Demand: p.demand[i], Headroom: 1 - p.usage[i],
		Own:          explain(p.own[i]),
		Pooled:       WhyEstimate{used.Capacity, used.Cost, used.CostSD, p.costKnown[i]},
		CautiousCost: room.Cost, Spread: room.Spread, Reserve: used.Reserve, Signal: room.Signal, Model: room.Model, Slots: used.Slots, Mode: room.Mode.String(),
		Profiled: used.Profiled.Now, ProfiledUsage: used.Profiled.Usage,
	}
	if p.blocks > 0 {
		c.Verdict = p.verdicts[i].String()
		c.Innovation, c.InnovationSD = p.tested[i].Value, math.Sqrt(p.tested[i].Variance)
	}
	if p.fleet.costs != nil {
		c.FleetCost, c.FleetSD = p.fleet.costs[i].Cost, p.fleet.costs[i].SD
	}
	p.why.Channels[i] = c
}
