package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Reasons of conditions and nodes that are no part of the API's list.
const (
	reasonSettling  = "Settling"
	reasonFresh     = "Fresh"
	reasonLeftOut   = v1alpha1.ReasonTooLarge
	maxErrorMessage = 256
)

// status is what the status is to be, as far as it is to be seen.
func (l *testbedLook) status(claims []v1alpha1.Claim, exclusiveFor types.UID) v1alpha1.TestbedStatus {
	counts := l.s.table.Counts()
	status := v1alpha1.TestbedStatus{
		ObservedGeneration: l.tb.Generation,
		Conditions:         slices.Clone(l.tb.Status.Conditions),
		Nodes:              l.nodeStatus(),
		Counts: v1alpha1.SlotCounts{
			Slots: int32(counts.Slots()), Free: int32(counts[slot.Free]), Reserved: int32(counts[slot.Reserved]),
			Occupied: int32(counts[slot.Occupied]), Pending: int32(counts[slot.Pending]), Retiring: int32(counts[slot.Retiring]),
		},
		ExclusiveFor: exclusiveFor,
		Claims:       claims,
		Placeholders: l.s.placeholders(),
	}
	for _, c := range l.conditions(counts, claims) {
		c.ObservedGeneration, c.LastTransitionTime = l.tb.Generation, metav1.NewTime(l.now.Truncate(time.Second))
		meta.SetStatusCondition(&status.Conditions, c)
	}
	if !l.tb.Spec.Automatic() {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.TestbedSignalsFresh)
	}
	return status
}

// placeholders names the pods that reserve slots.
func (s *testbedState) placeholders() string {
	uids := s.table.Placeholders()
	return strings.Join(uids[:min(len(uids), v1alpha1.MaxPlaceholders)], " ")
}

// nodeStatus lists the nodes in the order of slots.
func (l *testbedLook) nodeStatus() []v1alpha1.TestbedNode {
	nodes := l.s.config.Order.Nodes()
	out := make([]v1alpha1.TestbedNode, len(nodes))
	for i, n := range nodes {
		out[i] = v1alpha1.TestbedNode{Name: n.Name, ID: int32(i), Slots: int32(n.Positions.Len())}
		wanted, reason := int(l.tb.Spec.SlotsPerNode.IntVal), reasonLeftOut
		if auto := l.s.autos[n.Name]; auto != nil && l.tb.Spec.Automatic() {
			wanted, reason = auto.wanted, cmp.Or(auto.reason, reasonSettling)
			if auto.scale.Have != n.Positions {
				reason = reasonLeftOut
			}
		}
		out[i].Wanted = int32(wanted)
		if out[i].Wanted != out[i].Slots || reason == reasonNoReport || reason == reasonUnknownCost {
			out[i].Reason = reason
		}
	}
	return out
}

// conditions are those that the Testbed is to have.
func (l *testbedLook) conditions(counts slot.Counts, claims []v1alpha1.Claim) []metav1.Condition {
	ready := metav1.Condition{Type: v1alpha1.TestbedReady, Status: metav1.ConditionFalse}
	ready.Reason, ready.Message = l.readiness(counts, claims)
	if ready.Reason == v1alpha1.ReasonSlotsReady {
		ready.Status = metav1.ConditionTrue
	}
	conditions := []metav1.Condition{ready}
	if l.tb.Spec.Automatic() {
		conditions = append(conditions, l.freshness())
	}
	if l.tb.DeletionTimestamp != nil {
		conditions = append(conditions, metav1.Condition{
			Type: v1alpha1.TestbedDeleting, Status: metav1.ConditionTrue, Reason: "WaitingForClaims",
			Message: leaving(claims),
		})
	}
	return conditions
}

// readiness is the reason of the condition Ready, and what a person should know of it.
func (l *testbedLook) readiness(counts slot.Counts, claims []v1alpha1.Claim) (reason, message string) {
	cutNodes, cutSlots := l.s.config.Order.Cut()
	switch {
	case l.tb.DeletionTimestamp != nil:
		return v1alpha1.TestbedDeleting, "the Testbed is being deleted: " + leaving(claims)
	case len(l.nodes) == 0 && len(l.lost) == 0:
		return v1alpha1.ReasonNoNodes, "no node has the label " + l.tb.Spec.NodeLabel + ", and what nodeSelector asks for"
	case l.s.config.Idle:
		return v1alpha1.ReasonIdle, "no Scheduling has used it for " + l.tb.Spec.IdleAfter.Duration.String() + ": nothing is reserved until one does"
	case len(l.lost) > 0:
		return v1alpha1.ReasonNodeConflict, conflictText(l.lost)
	case cutNodes > 0 || cutSlots > 0:
		return v1alpha1.ReasonTooLarge, fmt.Sprintf("%d slots are left out: maxSlots is %d, and a Testbed has at most %d nodes", cutSlots, l.tb.Spec.MaxSlots, slot.MaxNodes)
	case counts[slot.Pending] > 0:
		message = fmt.Sprintf("%d of %d slots are not reserved yet", counts[slot.Pending], counts.Slots())
		if _, err := l.s.ops.state(); err != nil {
			message += "; the API server's last answer: " + cut(err.Error(), maxErrorMessage)
		}
		return v1alpha1.ReasonWaitingForCapacity, message
	}
	return v1alpha1.ReasonSlotsReady, count(counts.Slots(), "slot")
}

// leaving is what a Testbed waits for before it goes.
func leaving(claims []v1alpha1.Claim) string {
	if len(claims) == 0 {
		return "its slots' reservations go"
	}
	var jobs []string
	for i := range claims {
		jobs = append(jobs, fmt.Sprintf("%s (%s)", claims[i].BatchJob, count(len(claims[i].Slots), "slot")))
	}
	return "it waits for " + count(len(claims), "job") + " with slots to be released: " + some(jobs)
}

// count is things in words, as in "1 slot" and "2 slots".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// conflictText names the Testbeds that have the nodes.
func conflictText(lost map[string]testbed.Name) string {
	var texts []string
	for _, node := range slices.Sorted(maps.Keys(lost)) {
		texts = append(texts, node+" is "+lost[node].String()+"'s")
	}
	return some(texts)
}

// freshness reports whether the nodes' room is known.
func (l *testbedLook) freshness() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.TestbedSignalsFresh, Status: metav1.ConditionTrue, Reason: reasonFresh}
	silent := 0
	for _, n := range l.s.autos {
		if !n.fresh {
			silent++
		}
	}
	if silent > 0 {
		c.Status, c.Reason = metav1.ConditionFalse, reasonNoReport
		c.Message = fmt.Sprintf("the room of %d of %d nodes is not known; their slots stay as they are", silent, len(l.s.autos))
	}
	return c
}

// How long a difference of the status may wait to be written.
const (
	// settle is for what changes with each pod: thousands of placeholders are some writes.
	settle = time.Second
	// drift is for the number of slots that a node's room would do for.
	drift = 10 * time.Second
)

// delay reports whether two statuses differ, and for how long the difference may wait.
func delay(stored, next *v1alpha1.TestbedStatus) (time.Duration, bool) {
	switch {
	case sameStatus(stored, next):
		return 0, false
	case len(stored.Conditions) == 0, stored.ExclusiveFor != next.ExclusiveFor, !sameClaims(stored.Claims, next.Claims),
		meta.IsStatusConditionTrue(stored.Conditions, v1alpha1.TestbedDeleting) != meta.IsStatusConditionTrue(next.Conditions, v1alpha1.TestbedDeleting):
		return 0, true
	case stored.ObservedGeneration == next.ObservedGeneration && stored.Counts == next.Counts && stored.Placeholders == next.Placeholders &&
		equality.Semantic.DeepEqual(stored.Conditions, next.Conditions) && sameSlots(stored.Nodes, next.Nodes):
		return drift, true
	}
	return settle, true
}

// sameStatus compares thousands of nodes as what they are: to reflect on each takes longer
// than all the rest of a look.
func sameStatus(a, b *v1alpha1.TestbedStatus) bool {
	x, y := *a, *b
	x.Nodes, y.Nodes = nil, nil
	return slices.Equal(a.Nodes, b.Nodes) && equality.Semantic.DeepEqual(&x, &y)
}

func sameClaims(a, b []v1alpha1.Claim) bool {
	return slices.EqualFunc(a, b, func(x, y v1alpha1.Claim) bool { return x.BatchJobUID == y.BatchJobUID })
}

func sameSlots(a, b []v1alpha1.TestbedNode) bool {
	return slices.EqualFunc(a, b, func(x, y v1alpha1.TestbedNode) bool { return x.Name == y.Name && x.Slots == y.Slots })
}

// due says when the status is to be written: now or before, or later; zero is not at all.
func (s *testbedState) due(stored, next *v1alpha1.TestbedStatus, now time.Time) time.Time {
	wait, differs := delay(stored, next)
	if !differs {
		s.staleSince = time.Time{}
		return time.Time{}
	}
	if s.staleSince.IsZero() {
		s.staleSince = now
	}
	return s.staleSince.Add(wait)
}

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
