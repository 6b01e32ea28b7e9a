package controller

import (
	"time"

	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// autoOf is how the Testbed's slots follow measured room.
func autoOf(spec *v1alpha1.TestbedSpec) slot.Auto {
	a := spec.EffectiveAuto()
	// Where a zero was given it is none, and to slot.Auto the default.
	return slot.Auto{
		UnitsPerSlot: a.UnitsPerSlot.AsApproximateFloat64(),
		Min:          int(a.Min), Max: int(*a.Max),
		GrowAfter: max(a.GrowAfter.Duration, 1), ShrinkAfter: max(a.ShrinkAfter.Duration, 1),
	}
}

// noSlots reports whether nodes have no slots, whatever their room.
func noSlots(spec *v1alpha1.TestbedSpec) bool {
	return spec.Auto != nil && spec.Auto.Max != nil && *spec.Auto.Max == 0
}

// nodeUse is what a Testbed has on a node.
type nodeUse struct {
	// there are the positions with a placeholder, pods those with a pod, and busy those with a
	// pod or a claim.
	there, pods, busy slot.Positions
	// held is what its bound placeholders hold of the node's room.
	held float64
}

// roomOf is what is known of a node. A node with a full resource has no room for more.
func roomOf(r room.Reading, ok bool, use *nodeUse) slot.Room {
	if r.Saturated {
		r.Avail = min(r.Avail, 0)
	}
	return slot.Room{Free: r.Free(), Held: use.held, Occupied: use.pods.Len(), Known: ok && r.Fresh && r.CostKnown}
}

// autoNode is what is kept of a node whose slots follow its room.
type autoNode struct {
	scale slot.Scale
	// wanted is the number of slots that its room would do for, as it was last known.
	wanted int
	// fresh reports whether it is known now; freshAt is when it last was, at first when the node
	// was first looked at.
	fresh   bool
	freshAt time.Time
	reason  string
}

// Reasons of a node's slots staying what they are.
const (
	reasonNoReport    = "NoFreshReport"
	reasonUnknownCost = "CostUnknown"
)

// step follows one look at a node's room, and says when to look again whatever happens;
// zero is never.
func (n *autoNode) step(auto slot.Auto, source room.Source, node string, use *nodeUse, now time.Time) time.Time {
	if n.freshAt.IsZero() {
		// What is there stays: another controller may have made it.
		n.freshAt, n.scale.Have = now, union(use.there, use.busy)
		n.wanted = n.scale.Have.Len()
	}
	var reading room.Reading
	var ok bool
	if source != nil {
		reading, ok = source.Room(node)
	}
	look := roomOf(reading, ok, use)
	n.fresh = ok && reading.Fresh
	switch {
	case !n.fresh:
		n.reason = reasonNoReport
	case !look.Known:
		n.reason, n.freshAt = reasonUnknownCost, now
	default:
		n.reason, n.freshAt = "", now
		n.wanted = auto.Want(look)
	}
	var again time.Time
	n.scale, again = auto.Step(n.scale, look, use.busy, now)
	return again
}

func union(a, b slot.Positions) slot.Positions {
	for i := range b.All() {
		a = a.With(i)
	}
	return a
}
