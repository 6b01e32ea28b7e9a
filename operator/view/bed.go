package view

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Bed is a Testbed with the pods in its slots, kept up to date change by change: a pod
// costs a time that does not depend on the number of slots. What is asked of it is made
// when it is asked for, and kept. A placeholder of a size that slots had before counts as one of
// theirs: it is about to be replaced. A Bed is not safe for concurrent use. Make one with
// NewBed.
type Bed struct {
	testbed *v1alpha1.Testbed // nil before SetTestbed
	pods    map[string]slot.Pod
	table   *slot.Table
	order   *slot.Order
	jobs    map[string]string // the claims' jobs, NAMESPACE/NAME, by UID
	ids     []int             // ids[i] is i, for pointers to it
	shown   []wire.Slot
	err     error
	// reordered, reclaimed and changed say what has to be made anew.
	reordered, reclaimed, changed bool
}

// NewBed returns a Bed of no Testbed.
func NewBed() *Bed { return &Bed{pods: map[string]slot.Pod{}, table: slot.NewTable()} }

// errNoTestbed means that a Bed has pods and no Testbed yet.
var errNoTestbed = errors.New("view: no Testbed is known of that has these pods")

// No result of a Bed depends on the time.
var never time.Time

// SetTestbed says what the Testbed is like now. It is not modified, and must not be.
func (b *Bed) SetTestbed(t *v1alpha1.Testbed) {
	was := b.testbed
	b.testbed = t
	b.reordered = b.reordered || was == nil || t.UID != was.UID || t.Spec.Automatic() || was.Spec.Automatic() ||
		t.Spec.MaxSlots != was.Spec.MaxSlots || idle(t) != idle(was) || !slices.Equal(t.Status.Nodes, was.Status.Nodes)
	b.reclaimed = b.reclaimed || was == nil || !slices.EqualFunc(t.Status.Claims, was.Status.Claims, sameClaim)
}

func sameClaim(a, b v1alpha1.Claim) bool {
	return a.BatchJobUID == b.BatchJobUID && a.BatchJob == b.BatchJob && slices.Equal(a.Slots, b.Slots)
}

// Testbed is what SetTestbed was given last, or nil.
func (b *Bed) Testbed() *v1alpha1.Testbed { return b.testbed }

// Observe takes in a pod as it is now. One that names no slot is none of the Bed's. A pod
// without UID is an error.
func (b *Bed) Observe(p *corev1.Pod) error {
	pod := workload.SlotPod(p)
	if pod.Slot == (slot.ID{}) { // a job's pod that no scheduler has bound yet
		b.Forget(p.UID)
		return nil
	}
	pod.Size = "" // a placeholder of another size is one of the slot's until it is replaced
	if was, known := b.pods[pod.UID]; known && was == pod {
		return nil
	}
	if err := b.table.Observe(pod, never); err != nil {
		return fmt.Errorf("view: pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	b.pods[pod.UID] = pod
	b.touch()
	return nil
}

// Forget takes out a pod that is gone.
func (b *Bed) Forget(uid types.UID) {
	if _, known := b.pods[string(uid)]; known {
		delete(b.pods, string(uid))
		b.table.Forget(string(uid), never)
		b.touch()
	}
}

func (b *Bed) touch() {
	b.changed = true
	// Where the number of slots follows measured room, pods say which there are.
	b.reordered = b.reordered || b.testbed != nil && b.testbed.Spec.Automatic()
}

// Pods is how many pods there are in slots, placeholders among them.
func (b *Bed) Pods() int { return len(b.pods) }

// Slots returns the slots in their order, those that retire behind the others. They may be
// returned again, and are not to be modified. A status that names no slots, or one twice,
// is an error, as is a Bed without Testbed.
func (b *Bed) Slots() ([]wire.Slot, error) {
	if err := b.update(); err != nil || !b.changed {
		return b.shown, err
	}
	b.changed = false
	found := b.table.Slots()
	for len(b.ids) < len(found) {
		b.ids = append(b.ids, len(b.ids))
	}
	before := b.shown
	b.shown = make([]wire.Slot, len(found))
	for i := range found {
		s := &found[i]
		var id string
		if i < len(before) && before[i].Node == s.ID.Node && before[i].Position == s.ID.Position {
			id = before[i].ID
		} else {
			id = s.ID.String()
		}
		b.shown[i] = wire.Slot{
			ID: id, Index: s.Index, Node: s.ID.Node, Position: s.ID.Position, State: s.State,
			PodNamespace: s.Namespace, Pod: s.Pod, PodUID: s.PodUID, ReservedFor: b.jobs[s.Owner],
		}
		if s.NodeID >= 0 {
			b.shown[i].NodeID = &b.ids[s.NodeID]
		}
	}
	return b.shown, nil
}

// Order returns the order of the slots that there are. Errors are those of Slots.
func (b *Bed) Order() (*slot.Order, error) {
	if err := b.update(); err != nil {
		return nil, err
	}
	return b.order, nil
}

// Free returns the slots without a pod and without a claim, by index. Errors are those of Slots.
func (b *Bed) Free() ([]slot.ID, error) {
	if err := b.update(); err != nil {
		return nil, err
	}
	return b.table.Free(), nil
}

// update brings the table up to date with the Testbed.
func (b *Bed) update() error {
	if b.testbed == nil {
		return errNoTestbed
	}
	if !b.reordered && !b.reclaimed {
		return b.err
	}
	// After an error nothing is known of how far it came.
	place := b.reordered || b.err != nil
	b.changed, b.reordered, b.reclaimed = true, false, false
	if b.err = nil; place {
		b.err = b.place()
	}
	if b.err == nil {
		b.err = b.reserve()
	}
	if b.err != nil {
		b.shown = nil
	}
	return b.err
}

// place has the table keep the slots that the Testbed says there are. It looks at every one.
func (b *Bed) place() error {
	order, err := b.orderNow()
	if err != nil {
		return fmt.Errorf("view: status.nodes: %w", err)
	}
	b.order = order
	b.table.Configure(slot.Config{UID: string(b.testbed.UID), Order: order, Idle: idle(b.testbed)}, never)
	return nil
}

// reserve has the table know who claims what.
func (b *Bed) reserve() error {
	stored := b.testbed.Status.Claims
	b.jobs = make(map[string]string, len(stored))
	claims := make([]slot.Claim, 0, len(stored))
	for i := range stored {
		c := &stored[i]
		ids, err := idsOf(c.Slots)
		if err != nil {
			return fmt.Errorf("view: status.claims of %s: %w", c.BatchJob, err)
		}
		b.jobs[string(c.BatchJobUID)] = c.BatchJob
		claims = append(claims, slot.Claim{Owner: string(c.BatchJobUID), Slots: ids})
	}
	if err := b.table.SetClaims(claims, never); err != nil {
		return fmt.Errorf("view: status.claims: %w", err)
	}
	return nil
}

// orderNow is the order of the slots by the status: the nodes in theirs, each with as many
// slots as it has.
func (b *Bed) orderNow() (*slot.Order, error) {
	t := b.testbed
	there := map[string]slot.Positions{}
	if t.Spec.Automatic() {
		there = b.positions()
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
func (b *Bed) positions() map[string]slot.Positions {
	there := map[string]slot.Positions{}
	for _, p := range b.pods {
		there[p.Slot.Node] = there[p.Slot.Node].With(p.Slot.Position)
	}
	for i := range b.testbed.Status.Claims {
		for _, text := range b.testbed.Status.Claims[i].Slots {
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

// idle reports whether the Testbed has let its reservations go.
func idle(t *v1alpha1.Testbed) bool {
	ready := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.TestbedReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonIdle
}
