package agent

import (
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/svd"
)

// fleetView is what the aggregator last said.
type fleetView struct {
	model svd.Model
	costs []kalman.Fleet // in shares of this node's channels; nil: unknown
	at    time.Time
}

// SetFleet uses what the aggregator returned from now on. A fleet of another schema or
// shape, or with a model that is centred where the node's own is not, or the other way
// round, is a *field.Error and changes nothing. With Config.Pronto the schema ends with
// ProntoSchema, and samples are projected on the fleet's directions until it has been
// silent for FleetHalfLife.
func (p *Pipeline) SetFleet(at time.Time, f Fleet) error {
	d := len(p.config.Channels)
	switch {
	case f.Schema != p.modelSchema():
		return refuse("Schema", f.Schema, "want %s", p.modelSchema())
	case f.Model.Dim() != 0 && f.Model.Dim() != d:
		return refuse("Model.Dim", f.Model.Dim(), "want %d", d)
	case f.Model.Centred() && p.rejection == nil:
		return refuse("Model", "centred", "the node's model is not centred")
	case f.Model.Dim() != 0 && !f.Model.Centred() && p.rejection != nil:
		return refuse("Model", "not centred", "the node's model is centred")
	case len(f.Costs) != 0 && len(f.Costs) != d:
		return refuse("Costs", len(f.Costs), "want %d", d)
	}
	costs := make([]kalman.Fleet, d)
	for i, c := range f.Costs {
		if !c.Known {
			continue
		}
		if !positive(c.Value) || !(c.SD >= 0) || math.IsInf(c.SD, 0) {
			return refuse(index("Costs", i, ""), c, "must be finite and positive")
		}
		size := p.config.Channels[i].Size
		costs[i] = kalman.Fleet{Cost: c.Value / size, SD: c.SD / size}
	}
	view := fleetView{costs: costs, at: at.UTC()}
	if p.rejection == nil {
		view.model = f.Model
	} else if err := p.adopt(f.Model); err != nil {
		return err
	}
	p.fleet = view
	return nil
}

// share is γ, faded by the age of the fleet's model.
func (p *Pipeline) share(at time.Time) float64 {
	age := max(at.Sub(p.fleet.at), 0)
	return p.config.FleetShare * math.Exp2(-age.Seconds()/p.config.FleetHalfLife.Seconds())
}

// Local returns what the node pushes to the aggregator; ok is false before the
// first full block.
func (p *Pipeline) Local() (l Local, ok bool) {
	model := p.model
	if p.rejection != nil {
		model = p.rejection.tracker.Model()
	}
	if model.Mass() == 0 {
		return Local{}, false
	}
	costs := make([]Cost, len(p.own))
	for i, e := range p.own {
		size := p.config.Channels[i].Size
		costs[i] = Cost{Value: e.Cost * size, SD: e.CostSD * size, Known: e.Known}
	}
	return Local{
		Node: p.config.Node, Incarnation: p.config.Incarnation, Sequence: p.blocks,
		Schema: p.modelSchema(), Model: model.State(), Costs: costs,
	}, true
}

// modelTolerance is how far sizes may change, relative to the old ones, before
// the typical load is learnt anew: one that is off by less fades.
const modelTolerance = .1

// Resize takes the absolute sizes of the channels (cores, bytes), one a channel,
// where the machine has changed. What pods take is known in these units, so
// costs and capacities hold on as other shares. Sizes that are no size are a
// *field.Error and change nothing.
func (p *Pipeline) Resize(sizes []float64) error {
	if len(sizes) != len(p.config.Channels) {
		return refuse("len(sizes)", len(sizes), "want %d", len(p.config.Channels))
	}
	changed := false
	for i, size := range sizes {
		if !positive(size) {
			return refuse(index("sizes", i, ""), size, "must be finite and positive")
		}
		changed = changed || size != p.config.Channels[i].Size
	}
	if !changed {
		return nil
	}
	ratios, err := p.resize(sizes, p.estimator.StatesTo(nil))
	if err != nil {
		return err
	}
	p.resizeUsage(ratios)
	for i := range p.fleet.costs {
		p.fleet.costs[i].Cost *= ratios[i]
		p.fleet.costs[i].SD *= ratios[i]
	}
	for _, r := range ratios {
		if math.Abs(1/r-1) > modelTolerance {
			p.model, p.effective, p.blended = svd.Model{}, svd.Model{}, 0
			clear(p.demand)
			return p.rejection.relearn(p.config.Pronto)
		}
	}
	return nil
}

// resize replaces the sizes and the estimator, which goes on from the states in
// the new shares, and returns the old sizes over the new ones.
func (p *Pipeline) resize(sizes []float64, states []kalman.State) (ratios []float64, err error) {
	c := p.given.withDefaults() // not of the last sizes, or errors of rounding add up
	configs := make([]kalman.Config, len(sizes))
	ratios = make([]float64, len(sizes))
	for i, size := range sizes {
		ch := &c.Channels[i]
		ch.Prior *= ch.Size / size
		if ch.Name == CPU {
			c.Cores *= size / ch.Size
		}
		ch.Size = size
		configs[i] = c.estimator(*ch)
		ratios[i] = p.config.Channels[i].Size / size
		if states[i], err = states[i].Rescale(ratios[i]); err != nil {
			return nil, fmt.Errorf("agent: sizes[%d]: %w", i, err)
		}
	}
	estimator, err := c.Estimator.Method.New(configs...)
	if err != nil {
		return nil, fmt.Errorf("agent: sizes: %w", err)
	}
	if err := estimator.SetStates(states); err != nil {
		return nil, fmt.Errorf("agent: sizes: %w", err)
	}
	p.config, p.estimator = c, estimator
	p.own = estimator.EstimatesTo(p.own)
	return ratios, nil
}

// resizeUsage turns what was measured into the new shares.
func (p *Pipeline) resizeUsage(ratios []float64) {
	scale := func(y []float64) {
		for i := range y {
			y[i] = min(y[i]*ratios[i], 1)
		}
	}
	scale(p.raw)
	scale(p.usage)
	for _, y := range p.block[:p.filled] {
		scale(y)
	}
	states := p.bank.StatesTo(nil)
	for i, s := range states {
		states[i] = filter.State{Level: min(s.Level*ratios[i], 1), Started: s.Started}
	}
	if err := p.bank.SetStates(states); err != nil {
		p.bank.Reset() // the next sample begins anew
	}
}

// sizes are those of the channels now.
func (p *Pipeline) sizes() []float64 {
	sizes := make([]float64, len(p.config.Channels))
	for i, ch := range p.config.Channels {
		sizes[i] = ch.Size
	}
	return sizes
}
