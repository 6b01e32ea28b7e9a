package view

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Slot is a slot as others are told of it. It is plain data.
type Slot struct {
	// ID is NODE/POSITION, Index the slot's rank.
	ID    string `json:"id"`
	Index int    `json:"index"`
	// NodeID is the node's rank; nil if the node is no longer the Testbed's.
	Node     string     `json:"nodeName"`
	NodeID   *int       `json:"nodeId,omitempty"`
	Position int        `json:"slotPositionOnNode"`
	State    slot.State `json:"state"`
	// Namespace, Pod and PodUID are those of the live pod in the slot.
	Namespace string `json:"podNamespace,omitempty"`
	Pod       string `json:"podName,omitempty"`
	PodUID    string `json:"podUId,omitempty"`
	// ReservedFor is the job that has claimed the slot, NAMESPACE/NAME.
	ReservedFor string `json:"reservedFor,omitempty"`
}

// Slots returns the slots of a Testbed in their order, those that retire behind the others.
// Pods are those in its slots, ghosts among them; others do no harm. Neither is modified.
// A ghost of a size that slots had before counts as one of theirs: it is about to be replaced.
func Slots(t *v1alpha1.Testbed, pods []corev1.Pod) ([]Slot, error) {
	order, err := orderOf(t, pods)
	if err != nil {
		return nil, fmt.Errorf("view: status.nodes: %w", err)
	}
	table, never := slot.NewTable(), time.Time{} // nothing here depends on the time
	if err := table.Configure(slot.Config{UID: string(t.UID), Order: order, Idle: idle(t)}, never); err != nil {
		return nil, err
	}
	jobs := make(map[string]string, len(t.Status.Claims))
	claims := make([]slot.Claim, 0, len(t.Status.Claims))
	for i := range t.Status.Claims {
		c := &t.Status.Claims[i]
		ids, err := idsOf(c.Slots)
		if err != nil {
			return nil, fmt.Errorf("view: status.claims of %s: %w", c.BatchJob, err)
		}
		jobs[string(c.BatchJobUID)] = c.BatchJob
		claims = append(claims, slot.Claim{Owner: string(c.BatchJobUID), Slots: ids})
	}
	if err := table.SetClaims(claims, never); err != nil {
		return nil, fmt.Errorf("view: status.claims: %w", err)
	}
	for i := range pods {
		if p, ok := podOf(t, &pods[i]); ok {
			if err := table.Observe(p, never); err != nil {
				return nil, err
			}
		}
	}
	found := table.SlotsTo(nil)
	slots := make([]Slot, len(found))
	for i, s := range found {
		slots[i] = Slot{
			ID: s.ID.String(), Index: s.Index, Node: s.ID.Node, Position: s.ID.Position, State: s.State,
			Namespace: s.Namespace, Pod: s.Pod, PodUID: s.PodUID, ReservedFor: jobs[s.Owner],
		}
		if !s.Gone {
			slots[i].NodeID = &s.NodeID
		}
	}
	return slots, nil
}

// orderOf is the order of the slots by the status: the nodes in theirs, each with as many
// slots as it has.
func orderOf(t *v1alpha1.Testbed, pods []corev1.Pod) (*slot.Order, error) {
	there := map[string]slot.Positions{}
	if t.Spec.Automatic() {
		there = positions(t, pods)
	}
	nodes := make([]slot.Node, len(t.Status.Nodes))
	for i := range t.Status.Nodes {
		n := &t.Status.Nodes[i]
		nodes[i] = slot.Node{Name: n.Name, Label: strconv.Itoa(int(n.ID)), Positions: lowest(there[n.Name], int(n.Slots))}
	}
	return slot.NewOrder(nodes, int(t.Spec.MaxSlots))
}

// positions are those that are in use on each node: where the number of slots follows
// measured room, they need not be the first ones.
func positions(t *v1alpha1.Testbed, pods []corev1.Pod) map[string]slot.Positions {
	there := map[string]slot.Positions{}
	for i := range pods {
		if p, ok := podOf(t, &pods[i]); ok {
			there[p.Slot.Node] = there[p.Slot.Node].With(p.Slot.Position)
		}
	}
	for i := range t.Status.Claims {
		for _, text := range t.Status.Claims[i].Slots {
			if id, err := slot.ParseID(text); err == nil {
				there[id.Node] = there[id.Node].With(id.Position)
			}
		}
	}
	return there
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

func idsOf(texts []string) ([]slot.ID, error) {
	ids := make([]slot.ID, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = slot.ParseID(text); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// podOf is a pod as a table needs to know it, and whether it names a slot of the Testbed.
func podOf(t *v1alpha1.Testbed, p *corev1.Pod) (slot.Pod, bool) {
	if p.Labels[v1alpha1.LabelTestbedUID] != string(t.UID) {
		return slot.Pod{}, false
	}
	id, err := slot.ParseID(p.Annotations[v1alpha1.AnnotationSlot])
	if err != nil {
		return slot.Pod{}, false // a job's pod that no scheduler has bound yet
	}
	role := slot.Ghost
	if p.Labels[v1alpha1.LabelRole] != v1alpha1.RoleGhost {
		role = slot.Occupant
	}
	return slot.Pod{
		UID: string(p.UID), Namespace: p.Namespace, Name: p.Name, Role: role, Slot: id, Node: p.Spec.NodeName,
		Owner: p.Labels[v1alpha1.LabelBatchJobUID], Created: p.CreationTimestamp.Time, Deleting: p.DeletionTimestamp != nil,
		Terminal: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
	}, true
}

// idle says whether the Testbed has let its reservations go.
func idle(t *v1alpha1.Testbed) bool {
	ready := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.TestbedReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonIdle
}

// Summary is a line about a Testbed: what its slots are in, and why it is not ready.
func Summary(t *v1alpha1.Testbed) string {
	c := t.Status.Counts
	var states []string
	for _, s := range []struct {
		n  int32
		in slot.State
	}{{c.Free, slot.Free}, {c.Reserved, slot.Reserved}, {c.Occupied, slot.Occupied}, {c.Pending, slot.Pending}, {c.Retiring, slot.Retiring}} {
		if s.n > 0 {
			states = append(states, fmt.Sprintf("%d %s", s.n, s.in))
		}
	}
	text := fmt.Sprintf("%s: slots %d, nodes %d", t.Name, c.Slots, len(t.Status.Nodes))
	if len(states) > 0 {
		text += ": " + strings.Join(states, ", ")
	}
	ready := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.TestbedReady)
	switch {
	case ready == nil:
		return text + "; spazio-testbed has not looked at it yet"
	case ready.Status != metav1.ConditionTrue:
		return text + "; not ready: " + cmp.Or(ready.Message, ready.Reason)
	}
	return text
}
