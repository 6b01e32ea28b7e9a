package modelserver

import (
	"fmt"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/field"
)

// chunkSize is where a chunk of states ends: with the largest state after it,
// it is well within the 256 KiB of a message.
const chunkSize = 128 << 10

func fromEntry(e aggregate.Entry) *spaziov1.NodeState {
	m := &spaziov1.NodeState{
		Node: e.Node, Incarnation: e.Incarnation, Sequence: e.Sequence,
		Schema: e.Schema, Dim: uint32(e.Dim),
		AgeNanos: int64(e.Age), Weight: e.Weight, Moments: e.Moments, Mean: e.Mean,
		Costs: make([]*spaziov1.Cost, len(e.Costs)),
	}
	for i, c := range e.Costs {
		m.Costs[i] = &spaziov1.Cost{Value: c.Value, Sd: c.SD, Known: c.Known}
	}
	return m
}

// toEntries converts states that were checked by package api; the entries share
// their memory. The error names the field that package aggregate refuses.
func toEntries(states []*spaziov1.NodeState) ([]aggregate.Entry, error) {
	entries := make([]aggregate.Entry, len(states))
	for i, m := range states {
		entries[i] = toEntry(m)
		if err := entries[i].Validate(); err != nil {
			return nil, refuseState(i, err)
		}
	}
	return entries, nil
}

func toEntry(m *spaziov1.NodeState) aggregate.Entry {
	e := aggregate.Entry{
		Node: m.GetNode(), Incarnation: m.GetIncarnation(), Sequence: m.GetSequence(),
		Schema: m.GetSchema(), Dim: int(m.GetDim()),
		Age: time.Duration(m.GetAgeNanos()), Weight: m.GetWeight(), Moments: m.GetMoments(), Mean: m.GetMean(),
	}
	for _, c := range m.GetCosts() {
		cost := aggregate.Cost{}
		if c.GetKnown() {
			cost = aggregate.Cost{Value: c.GetValue(), SD: c.GetSd(), Known: true}
		}
		e.Costs = append(e.Costs, cost)
	}
	return e
}

func refuseState(i int, err error) error {
	bad := field.By(err, "aggregate")
	if bad == nil {
		return err
	}
	return &field.Error{Package: "api", Field: fmt.Sprintf("states[%d].%s", i, strings.ToLower(bad.Field)), Value: bad.Value, Err: bad.Err}
}
