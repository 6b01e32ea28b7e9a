package api

import (
	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// What tests of the package outside of it look at.

const MaxStates = maxStates

var (
	FromModel = fromModel
	ToModel   = toModel
)

// ToLocal converts and checks a node's local model from the wire. Errors are
// *field.Error.
func ToLocal(m *spaziov1.LocalModel) (agent.Local, error) {
	if err := CheckLocal(m); err != nil {
		return agent.Local{}, err
	}
	model, err := toModel(m.GetModel())
	if err != nil {
		return agent.Local{}, err
	}
	return agent.Local{
		Node:        m.GetNode(),
		Incarnation: m.GetIncarnation(),
		Sequence:    m.GetSequence(),
		Schema:      m.GetSchema(),
		Model:       model,
		Costs:       toCosts(m.GetCosts()),
	}, nil
}
