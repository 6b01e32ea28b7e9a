package api

import (
	"slices"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/svd"
)

// What tests of the package outside of it look at.

const MaxStates = maxStates

var FromModel = fromModel

// ToModel converts and checks a model from the wire. Errors are *field.Error.
func ToModel(m *spaziov1.Model) (svd.State, error) {
	if err := checkModel(m); err != nil {
		return svd.State{}, err
	}
	s := view(m)
	s.U, s.Sigma, s.Mean = slices.Clone(s.U), slices.Clone(s.Sigma), slices.Clone(s.Mean)
	return s, nil
}

// ToLocal converts and checks a node's local model from the wire. Errors are
// *field.Error.
func ToLocal(m *spaziov1.LocalModel) (agent.Local, error) {
	if err := CheckLocal(m); err != nil {
		return agent.Local{}, err
	}
	model, err := ToModel(m.GetModel())
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
