package agent

import (
	"math"
	"time"

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
