package agent

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/svd"
)

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
