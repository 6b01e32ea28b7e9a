package view

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Bed is a Testbed with what is in its slots, as they were at one time. It is a plain value.
type Bed struct {
	// Slots are in their order, those that retire behind the others.
	Slots []wire.Slot
	// Order has the slots that there are, and Free are those without a pod and without a claim,
	// by index.
	Order *slot.Order
	Free  []slot.ID
}

// NewBed works out the slots of a Testbed. Pods are those in its slots, placeholders among them;
// others do no harm. Neither is modified. A placeholder of a size that slots had before counts as
// one of theirs: it is about to be replaced. A status that names no slots, or one twice, is an
// error, and so is a pod without UID.
func NewBed(t *v1alpha1.Testbed, pods []corev1.Pod) (Bed, error) {
	var never time.Time // nothing here depends on the time
	table := slot.NewTable()
	used := map[string]slot.Positions{}
	for i := range pods {
		p := workload.SlotPod(&pods[i])
		if pods[i].Labels[v1alpha1.LabelTestbedUID] != string(t.UID) || p.Slot == (slot.ID{}) {
			continue
		}
		p.Size = ""
		if err := table.Observe(p, never); err != nil {
			return Bed{}, fmt.Errorf("view: pod %s/%s: %w", p.Namespace, p.Name, err)
		}
		used[p.Slot.Node] = used[p.Slot.Node].With(p.Slot.Position)
	}
	claims, jobs, err := claimsOf(t)
	if err != nil {
		return Bed{}, err
	}
	if err := table.SetClaims(claims, never); err != nil {
		return Bed{}, fmt.Errorf("view: status.claims: %w", err)
	}
	for _, c := range claims {
		for _, id := range c.Slots {
			used[id.Node] = used[id.Node].With(id.Position)
		}
	}
	order, err := orderOf(t, used)
	if err != nil {
		return Bed{}, fmt.Errorf("view: status.nodes: %w", err)
	}
	ready := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.TestbedReady)
	idle := ready != nil && ready.Reason == v1alpha1.ReasonIdle
	table.Configure(slot.Config{UID: string(t.UID), Order: order, Idle: idle}, never)
	return Bed{Slots: shown(table.Slots(), jobs), Order: order, Free: table.Free()}, nil
}

// claimsOf returns the claims on a Testbed's slots, and the names of their jobs by UID.
func claimsOf(t *v1alpha1.Testbed) (claims []slot.Claim, jobs map[string]string, err error) {
	jobs = make(map[string]string, len(t.Status.Claims))
	for i := range t.Status.Claims {
		c := &t.Status.Claims[i]
		claim := slot.Claim{Owner: string(c.BatchJobUID), Slots: make([]slot.ID, len(c.Slots))}
		for k, text := range c.Slots {
			if claim.Slots[k], err = slot.ParseID(text); err != nil {
				return nil, nil, fmt.Errorf("view: status.claims of %s: %w", c.BatchJob, err)
			}
		}
		claims, jobs[claim.Owner] = append(claims, claim), c.BatchJob
	}
	return claims, jobs, nil
}

// orderOf returns the order of the slots by the status: the nodes in theirs, each with as many
// slots as it has. Where the number of slots follows measured room, those in use need not be the
// first ones of their node.
func orderOf(t *v1alpha1.Testbed, used map[string]slot.Positions) (*slot.Order, error) {
	nodes := make([]slot.Node, len(t.Status.Nodes))
	for i := range t.Status.Nodes {
		n := &t.Status.Nodes[i]
		positions := slot.First(int(n.Slots))
		if t.Spec.Automatic() {
			positions = lowest(used[n.Name], int(n.Slots))
		}
		nodes[i] = slot.Node{Name: n.Name, Label: strconv.Itoa(int(n.ID)), Positions: positions}
	}
	return slot.NewOrder(nodes, int(t.Spec.MaxSlots))
}

// lowest returns n positions: the lowest of those in use, and then the lowest of all.
func lowest(used slot.Positions, n int) slot.Positions {
	var p slot.Positions
	for _, from := range []slot.Positions{used, slot.First(slot.MaxPerNode)} {
		for i := range from.All() {
			if p.Len() < n {
				p = p.With(i)
			}
		}
	}
	return p
}

// shown returns the slots in the form of the interface; jobs has the names of their owners.
func shown(slots []slot.Slot, jobs map[string]string) []wire.Slot {
	all := make([]wire.Slot, len(slots))
	for i, s := range slots {
		all[i] = wire.Slot{
			ID: s.ID.String(), Index: s.Index, Node: s.ID.Node, Position: s.ID.Position, State: s.State,
			PodNamespace: s.Namespace, Pod: s.Pod, PodUID: s.PodUID, ReservedFor: jobs[s.Owner],
		}
		if s.NodeID >= 0 {
			all[i].NodeID = &s.NodeID
		}
	}
	return all
}
