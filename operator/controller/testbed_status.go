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
func (s *testbedState) status(o *observation, claims []v1alpha1.Claim, exclusiveFor types.UID, now time.Time) v1alpha1.TestbedStatus {
	counts := s.table.Counts()
	status := v1alpha1.TestbedStatus{
		ObservedGeneration: o.testbed.Generation,
		Conditions:         slices.Clone(o.testbed.Status.Conditions),
		Nodes:              s.nodeStatus(o),
		Counts: v1alpha1.SlotCounts{
			Slots: int32(counts.Slots()), Free: int32(counts[slot.Free]), Reserved: int32(counts[slot.Reserved]),
			Occupied: int32(counts[slot.Occupied]), Pending: int32(counts[slot.Pending]), Retiring: int32(counts[slot.Retiring]),
		},
		ExclusiveFor: exclusiveFor,
		Claims:       claims,
		Placeholders: s.placeholders(),
	}
	for _, c := range s.conditions(o, counts, claims) {
		c.ObservedGeneration, c.LastTransitionTime = o.testbed.Generation, metav1.NewTime(now.Truncate(time.Second))
		meta.SetStatusCondition(&status.Conditions, c)
	}
	if !o.testbed.Spec.Automatic() {
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
func (s *testbedState) nodeStatus(o *observation) []v1alpha1.TestbedNode {
	nodes := s.config.Order.Nodes()
	out := make([]v1alpha1.TestbedNode, len(nodes))
	for i, n := range nodes {
		out[i] = v1alpha1.TestbedNode{Name: n.Name, ID: int32(i), Slots: int32(n.Positions.Len())}
		wanted, reason := int(o.testbed.Spec.SlotsPerNode.IntVal), reasonLeftOut
		if auto := s.autos[n.Name]; auto != nil && o.testbed.Spec.Automatic() {
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
func (s *testbedState) conditions(o *observation, counts slot.Counts, claims []v1alpha1.Claim) []metav1.Condition {
	ready := metav1.Condition{Type: v1alpha1.TestbedReady, Status: metav1.ConditionFalse}
	ready.Reason, ready.Message = s.readiness(o, counts, claims)
	if ready.Reason == v1alpha1.ReasonSlotsReady {
		ready.Status = metav1.ConditionTrue
	}
	conditions := []metav1.Condition{ready}
	if o.testbed.Spec.Automatic() {
		conditions = append(conditions, s.freshness())
	}
	if o.testbed.DeletionTimestamp != nil {
		conditions = append(conditions, metav1.Condition{
			Type: v1alpha1.TestbedDeleting, Status: metav1.ConditionTrue, Reason: "WaitingForClaims",
			Message: leaving(claims),
		})
	}
	return conditions
}

// readiness is the reason of the condition Ready, and what a person should know of it.
func (s *testbedState) readiness(o *observation, counts slot.Counts, claims []v1alpha1.Claim) (reason, message string) {
	cutNodes, cutSlots := s.config.Order.Cut()
	switch {
	case o.testbed.DeletionTimestamp != nil:
		return v1alpha1.TestbedDeleting, "the Testbed is being deleted: " + leaving(claims)
	case len(o.nodes) == 0 && len(o.lost) == 0:
		return v1alpha1.ReasonNoNodes, "no node has the label " + o.testbed.Spec.NodeLabel + ", and what nodeSelector asks for"
	case s.config.Idle:
		return v1alpha1.ReasonIdle, "no Scheduling has used it for " + o.testbed.Spec.IdleAfter.Duration.String() + ": nothing is reserved until one does"
	case len(o.lost) > 0:
		return v1alpha1.ReasonNodeConflict, conflictText(o.lost)
	case cutNodes > 0 || cutSlots > 0:
		return v1alpha1.ReasonTooLarge, fmt.Sprintf("%d slots are left out: maxSlots is %d, and a Testbed has at most %d nodes", cutSlots, o.testbed.Spec.MaxSlots, slot.MaxNodes)
	case counts[slot.Pending] > 0:
		message = fmt.Sprintf("%d of %d slots are not reserved yet", counts[slot.Pending], counts.Slots())
		if _, err := s.ops.state(); err != nil {
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
func (s *testbedState) freshness() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.TestbedSignalsFresh, Status: metav1.ConditionTrue, Reason: reasonFresh}
	silent := 0
	for _, n := range s.autos {
		if !n.fresh {
			silent++
		}
	}
	if silent > 0 {
		c.Status, c.Reason = metav1.ConditionFalse, reasonNoReport
		c.Message = fmt.Sprintf("the room of %d of %d nodes is not known; their slots stay as they are", silent, len(s.autos))
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
