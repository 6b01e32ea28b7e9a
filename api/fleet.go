package api

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/svd"
)

// FromFleet converts the fleet's model for the wire. Version numbers the
// models that one aggregator has published.
func FromFleet(f agent.Fleet, version uint64) *spaziov1.GlobalModel {
	return &spaziov1.GlobalModel{
		Schema:  f.Schema,
		Model:   fromModel(f.Model.State()),
		Costs:   fromCosts(f.Costs),
		Nodes:   uint32(f.Nodes),
		Version: version,
	}
}

// ToFleet converts and checks the fleet's model from the wire. Errors are
// *field.Error.
func ToFleet(m *spaziov1.GlobalModel) (agent.Fleet, error) {
	if err := checkFleet(m); err != nil {
		return agent.Fleet{}, err
	}
	model, err := svd.FromState(view(m.GetModel()))
	if err != nil {
		return agent.Fleet{}, refuse("model", fmt.Sprintf("%d channels", m.GetModel().GetDim()), err)
	}
	return agent.Fleet{
		Schema: m.GetSchema(),
		Model:  model,
		Costs:  toCosts(m.GetCosts()),
		Nodes:  int(m.GetNodes()),
	}, nil
}

func checkFleet(m *spaziov1.GlobalModel) error {
	if m == nil {
		return refuse("global", nil, ErrMissing)
	}
	if err := cmp.Or(checkName("schema", m.GetSchema(), false), checkModel(m.GetModel())); err != nil {
		return err
	}
	if nodes := m.GetNodes(); nodes > math.MaxInt32 {
		return refuse("nodes", nodes, fmt.Errorf("%w: at most %d", ErrRange, math.MaxInt32))
	}
	return checkCosts(m.GetCosts(), m.GetModel().GetDim())
}
