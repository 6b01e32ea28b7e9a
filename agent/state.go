package agent

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/svd"
)

// stateVersion is the version of State. It changes with the meaning of a field.
const stateVersion = 3

// State is all that a Pipeline has learnt, as plain data for storage. A pipeline
// of the same Config that goes on from it makes the same reports, bit for bit.
type State struct {
	// Version is that of the states of this package; it changes with the meaning of a field.
	Version int
	// At is the time of the newest sample, zero before the first, and Raw that
	// sample, one value a channel.
	At  time.Time
	Raw []float64
	// Sizes are those of the channels, of which Resize may have taken others than
	// the Config has.
	Sizes []float64
	// Filter holds one state a channel.
	Filter []filter.State
	// Block is the block being filled, sample after sample of one value a
	// channel, and Blocks the number of full ones before it.
	Block  []float64
	Blocks uint64
	// Model is the own model and Effective its blend with the fleet's, whose
	// share was Blended. A model of Dim 0 has seen nothing.
	Model, Effective svd.State
	Blended          float64
	// Demand is q of the effective model, one value a channel.
	Demand []float64
	Fleet  fleetState
	// Estimator, Verdicts and Innovations hold one entry a channel.
	Estimator   []kalman.State
	Verdicts    []kalman.Verdict
	Innovations []kalman.Innovation
	// Pods are the pods on the node by key, and History the counts of those that
	// load it since one settling time ago, as they came.
	Pods    []podRecord
	History []podCount
	// Ended are the pods that ended within one settling time, and Mispredictions those of
	// which the next reports carry, both as they came.
	Ended          []endedPod          `json:",omitempty"`
	Mispredictions []madeMisprediction `json:"Surprises,omitempty"`
	// Placeholders are those that schedulers have named, by key.
	Placeholders []placeholderRecord `json:"Ghosts,omitempty"`
	// ChurnFirst and ChurnLast are the first and the last event of the newest
	// churn window; zero before any.
	ChurnFirst, ChurnLast time.Time
	Pace                  paceState
	// Sequence and Reported are of the last report, Reported its avail, and
	// ReportAt is when the next is due if all come evenly. Pending reports that the
	// pods have changed since.
	Sequence uint64
	ReportAt time.Time
	Reported float64
	Pending  bool
	// Pronto is nil unless Config.Pronto is set.
	Pronto *prontoState `json:",omitempty"`
	// Power is nil until power was measured.
	Power *powerState `json:",omitempty"`
}

// podCount is the number of pods from a time on.
type podCount struct {
	At    time.Time
	Count int
}

// paceState is what is known of how pods come and go.
type paceState struct {
	// At is the time up to which Ends and Lived, in pod-seconds, were counted;
	// both fade. Startup is the mean start-up time in seconds, 0 before any, and
	// Teardown the mean time from a pod's last container to its end.
	At                             time.Time
	Ends, Lived, Startup, Teardown float64
	// Predicted is what was predicted of the CPU of the pods of Ends, and Allowance the newest.
	Predicted predictedDemand `json:"Told,omitzero"`
	Allowance float64         `json:",omitzero"`
	// Lead is how long pods run before a container of their own does.
	Lead time.Duration
	// Way are the pods bound to the node that have not come yet, in order of the
	// notices.
	Way []boundPod
}

// boundPod is the notice of a bind and when it came.
type boundPod struct {
	Bind
	At time.Time
}

// fleetState is what the aggregator last said.
type fleetState struct {
	// Model has Dim 0 where none was said.
	Model svd.State
	// Costs are in shares of the node's channels: one a channel, or none before
	// the first word.
	Costs []kalman.Fleet
	At    time.Time
}

// Config returns the configuration that the pipeline was made of.
func (p *Pipeline) Config() Config {
	c := p.given
	c.Channels, c.Pronto = slices.Clone(c.Channels), cloneOf(c.Pronto)
	return c
}

// State returns a copy of all that p has learnt.
func (p *Pipeline) State() State {
	d := len(p.usage)
	s := State{
		Version: stateVersion,
		At:      p.at, Raw: slices.Clone(p.raw), Sizes: p.sizes(),
		Filter: p.bank.StatesTo(nil),
		Block:  make([]float64, 0, p.filled*d), Blocks: p.blocks,
		Model: p.model.State(), Effective: p.effective.State(), Blended: p.blended,
		Demand: slices.Clone(p.demand),
		Fleet: fleetState{
			Model: p.fleet.model.State(), Costs: slices.Clone(p.fleet.costs), At: p.fleet.at,
		},
		Estimator: p.estimator.StatesTo(nil),
		Verdicts:  slices.Clone(p.verdicts), Innovations: slices.Clone(p.tested),
		Pods: slices.Clone(p.pods.records), History: slices.Clone(p.pods.history), Ended: slices.Clone(p.pods.ended),
		Mispredictions: slices.Clone(p.mispredictions), Placeholders: slices.Clone(p.placeholders),
		ChurnFirst: p.churn.first, ChurnLast: p.churn.last,
		Pace: paceState{
			At: p.pace.at, Ends: p.pace.pace.Ends, Lived: p.pace.pace.Lived, Startup: p.pace.pace.Startup,
			Teardown: p.pace.teardown, Lead: p.pace.lead, Predicted: p.pace.predicted, Allowance: p.pace.allowance, Way: slices.Clone(p.pace.way),
		},
		Sequence: p.sequence, ReportAt: p.pacer.next, Reported: p.reported, Pending: p.pending,
		Pronto: p.rejection.state(), Power: p.power.clone(),
	}
	for _, y := range p.block[:p.filled] {
		s.Block = append(s.Block, y...)
	}
	return s
}

// FromState returns a pipeline that goes on from s, which is copied. Its Why
// begins with its next report. The error is that of Config.Validate, or a
// *field.Error, of this package or wrapped from the package it comes from, for a
// State that no pipeline of this Config can have had. Its Field is State.Version for a State of
// another version.
func FromState(c Config, s State) (*Pipeline, error) {
	p, err := New(c)
	if err != nil {
		return nil, err
	}
	if err := s.validate(len(p.usage), len(p.block)); err != nil {
		return nil, err
	}
	if _, err := p.resize(s.Sizes, make([]kalman.State, len(s.Sizes))); err != nil {
		return nil, err
	}
	if err := p.restoreParts(s); err != nil {
		return nil, err
	}
	if err := p.restoreRejection(s.Pronto); err != nil {
		return nil, err
	}
	d := len(p.usage)
	p.at = s.At
	copy(p.raw, s.Raw)
	for i, f := range s.Filter {
		p.usage[i] = f.Level
	}
	for i := 0; i < len(s.Block); i += d {
		copy(p.block[p.filled], s.Block[i:])
		p.filled++
	}
	p.blocks, p.blended = s.Blocks, s.Blended
	copy(p.demand, s.Demand)
	copy(p.verdicts, s.Verdicts)
	copy(p.tested, s.Innovations)
	p.pods = podLog{records: slices.Clone(s.Pods), history: slices.Clone(s.History), ended: slices.Clone(s.Ended)}
	p.mispredictions, p.placeholders = slices.Clone(s.Mispredictions), slices.Clone(s.Placeholders)
	p.pods.count()
	p.churn = churnWindow{first: s.ChurnFirst, last: s.ChurnLast}
	p.pace = paceLog{
		at: s.Pace.At, loading: p.pods.loading, way: slices.Clone(s.Pace.Way),
		teardown: s.Pace.Teardown, lead: s.Pace.Lead, predicted: s.Pace.Predicted, allowance: s.Pace.Allowance,
		pace: capacity.Pace{Ends: s.Pace.Ends, Lived: s.Pace.Lived, Startup: s.Pace.Startup},
	}
	p.sequence, p.reported, p.pending = s.Sequence, s.Reported, s.Pending
	p.pacer.next = s.ReportAt
	p.power = s.Power.clone()
	return p, nil
}

// restoreParts restores what other packages know how to check.
func (p *Pipeline) restoreParts(s State) error {
	if err := p.bank.SetStates(s.Filter); err != nil {
		return fmt.Errorf("agent: State.Filter: %w", err)
	}
	if err := p.estimator.SetStates(s.Estimator); err != nil {
		return fmt.Errorf("agent: State.Estimator: %w", err)
	}
	p.own = p.estimator.EstimatesTo(p.own)
	p.fleet = fleetView{costs: slices.Clone(s.Fleet.Costs), at: s.Fleet.At}
	for _, m := range []struct {
		name string
		from svd.State
		to   *svd.Model
	}{
		{"Model", s.Model, &p.model}, {"Effective", s.Effective, &p.effective}, {"Fleet.Model", s.Fleet.Model, &p.fleet.model},
	} {
		if m.from.Dim == 0 {
			continue
		}
		model, err := svd.FromState(m.from)
		if err != nil {
			return fmt.Errorf("agent: State.%s: %w", m.name, err)
		}
		if model.Dim() != len(p.usage) || model.Centred() {
			return refuse("State."+m.name, model.Dim(), "want a model of %d channels, not centred", len(p.usage))
		}
		*m.to = model
	}
	return nil
}

// validate checks what restoreParts does not: shapes for d channels and blocks
// of b samples, and values that no pipeline takes.
func (s State) validate(d, b int) error {
	if s.Version != stateVersion {
		return refuse("State.Version", s.Version, "want %d", stateVersion)
	}
	for _, f := range []struct {
		name   string
		length int
		ok     bool
	}{
		{"Raw", len(s.Raw), len(s.Raw) == d}, {"Sizes", len(s.Sizes), len(s.Sizes) == d},
		{"Block", len(s.Block), len(s.Block)%d == 0 && len(s.Block) < b*d},
		{"Demand", len(s.Demand), len(s.Demand) == d},
		{"Verdicts", len(s.Verdicts), len(s.Verdicts) == d},
		{"Innovations", len(s.Innovations), len(s.Innovations) == d},
		{"Fleet.Costs", len(s.Fleet.Costs), len(s.Fleet.Costs) == 0 || len(s.Fleet.Costs) == d},
	} {
		if !f.ok {
			return refuse("len(State."+f.name+")", f.length, "does not fit %d channels and blocks of %d", d, b)
		}
	}
	for _, f := range []struct {
		name   string
		values []float64
		limit  float64
	}{
		{"Raw", s.Raw, 1}, {"Block", s.Block, 1}, {"Blended", []float64{s.Blended}, 1}, {"Demand", s.Demand, svd.MaxRMS},
	} {
		for _, v := range f.values {
			if !(v >= 0 && v <= f.limit) {
				return refuse("State."+f.name, v, "must be in [0, %g]", f.limit)
			}
		}
	}
	for i, size := range s.Sizes {
		if !positive(size) {
			return refuse(index("State.Sizes", i, ""), size, "must be finite and positive")
		}
	}
	return s.validateEvents()
}

func (s State) validateEvents() error {
	for _, f := range s.Filter {
		if !(f.Level >= 0 && f.Level <= 1) {
			return refuse("State.Filter.Level", f.Level, "must be in [0, 1]")
		}
	}
	for i, c := range s.Fleet.Costs {
		if !(c.Cost >= 0 && c.SD >= 0) || math.IsInf(c.Cost, 0) || math.IsInf(c.SD, 0) {
			return refuse(index("State.Fleet.Costs", i, ""), c, "must be finite and not negative")
		}
	}
	for i, r := range s.Pods {
		switch {
		case i > 0 && r.Key <= s.Pods[i-1].Key:
			return refuse(index("State.Pods", i, "Key"), r.Key, "must ascend")
		case r.State > PodStopped || r.Starts < 0 || r.Inits < 0:
			return refuse(index("State.Pods", i, ""), r, "is no pod")
		}
	}
	for i, r := range s.Placeholders {
		switch {
		case i > 0 && r.Key <= s.Placeholders[i-1].Key:
			return refuse(index("State.Placeholders", i, "Key"), r.Key, "must ascend")
		case r.State > PodStopped || r.Starts < 0:
			return refuse(index("State.Placeholders", i, ""), r, "is no pod")
		}
	}
	for i, r := range s.records() {
		if r.Demand.Validate() != nil || !r.Use.valid() {
			return refuse(index("State.Pods", i, ""), r, "is of no demand or use")
		}
	}
	if len(s.Mispredictions) > MaxMispredictions {
		return refuse("len(State.Mispredictions)", len(s.Mispredictions), "must be at most %d", MaxMispredictions)
	}
	for i, h := range s.History {
		if h.Count < 0 || h.Count > kalman.MaxPods {
			return refuse(index("State.History", i, ""), h.Count, "must be in [0, 1e6]")
		}
	}
	for _, v := range [...]float64{s.Pace.Ends, s.Pace.Lived, s.Pace.Startup, s.Pace.Teardown, s.Pace.Lead.Seconds(),
		s.Pace.Predicted.Pods, s.Pace.Predicted.Cores, s.Pace.Predicted.Squares, s.Pace.Allowance,
	} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return refuse("State.Pace", v, "must be finite and not negative")
		}
	}
	if math.IsNaN(s.Reported) {
		return refuse("State.Reported", s.Reported, "must be a number")
	}
	return s.Power.validate()
}

// records are those of the pods there are and of those that have ended.
func (s State) records() []podRecord {
	records := slices.Clone(s.Pods)
	for _, e := range s.Ended {
		records = append(records, e.podRecord)
	}
	return records
}

func (u *podUse) valid() bool {
	return u.Readings >= 0 && u.Cores >= 0 && u.Cores <= MaxWindowCores && u.Peak >= 0 && !math.IsInf(u.Peak, 0)
}
