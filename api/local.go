package api

import (
	"cmp"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// FromLocal converts a node's local model for the wire.
func FromLocal(l agent.Local) *spaziov1.LocalModel {
	return &spaziov1.LocalModel{
		Node:        l.Node,
		Incarnation: l.Incarnation,
		Sequence:    l.Sequence,
		Schema:      l.Schema,
		Model:       fromModel(l.Model),
		Costs:       fromCosts(l.Costs),
	}
}

// CheckLocal returns what is wrong with a node's local model from the wire, as a *field.Error.
func CheckLocal(m *spaziov1.LocalModel) error {
	if m == nil {
		return refuse("local", nil, ErrMissing)
	}
	return cmp.Or(
		checkName("node", m.GetNode(), false), checkName("schema", m.GetSchema(), false),
		checkModel(m.GetModel()), checkCosts(m.GetCosts(), m.GetModel().GetDim()),
	)
}
