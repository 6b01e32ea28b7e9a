package profiler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// ErrTooSmall refuses a Testbed without a node on which two jobs could run beside each other.
var ErrTooSmall = errors.New("no node has two slots")

// place gives each pair nodes of its own and shares the slots of each evenly between its two
// jobs, so that both run with as many pods, side by side on each node; one that is alone
// gets the half that would be its own beside another. The nodes go around the pairs in the
// order of slots, of those with at least two; where there are fewer nodes than pairs the
// pairs go around the nodes, and run one after the other (wire.SlotBased, Relaxed).
//
// Slots that retire, or whose node is no longer the Testbed's, are left out. Names of jobs
// are those of the pairs. Neither argument is modified.
func place(slots []wire.Slot, pairs []colocate.Pair) ([]wire.SlotJob, error) {
	nodes := shared(slots)
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: there are %d slots", ErrTooSmall, len(slots))
	}
	rounds := max(1, len(nodes)/max(1, len(pairs)))
	var jobs []wire.SlotJob
	for i, pair := range pairs {
		var a, b []slot.Ref
		for round := range rounds {
			node := nodes[(i+round*len(pairs))%len(nodes)]
			half := len(node) / 2
			a = append(a, node[:half]...)
			b = append(b, node[half:2*half]...)
		}
		jobs = append(jobs, wire.SlotJob{Job: pair.A, Slots: a})
		if pair.B != "" {
			jobs = append(jobs, wire.SlotJob{Job: pair.B, Slots: b})
		}
	}
	return jobs, nil
}

// usable returns the slots that a job can have, in the order of their index.
func usable(slots []wire.Slot) []wire.Slot {
	ordered := slices.SortedFunc(slices.Values(slots), func(a, b wire.Slot) int { return cmp.Compare(a.Index, b.Index) })
	return slices.DeleteFunc(ordered, func(s wire.Slot) bool { return s.NodeID == nil || s.State == slot.Retiring })
}

// shared returns the slots of each node that has at least two.
func shared(slots []wire.Slot) [][]slot.Ref {
	var names []string
	of := make(map[string][]slot.Ref)
	for _, s := range usable(slots) {
		if _, there := of[s.Node]; !there {
			names = append(names, s.Node)
		}
		of[s.Node] = append(of[s.Node], slot.Ref{ID: slot.ID{Node: s.Node, Position: s.Position}})
	}
	var nodes [][]slot.Ref
	for _, name := range names {
		if len(of[name]) >= 2 {
			nodes = append(nodes, of[name])
		}
	}
	return nodes
}
