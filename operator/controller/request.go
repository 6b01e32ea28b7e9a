package controller

import (
	"cmp"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// nameOf is an object's name.
func nameOf(o metav1.Object) testbed.Name {
	return testbed.Name{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// keyOf is the name as Kubernetes' packages spell it.
func keyOf(n testbed.Name) types.NamespacedName {
	return types.NamespacedName{Namespace: n.Namespace, Name: n.Name}
}

// jobNames are the jobs that a Scheduling lists, each once, in the order in which they are
// first named.
func jobNames(s *v1alpha1.Scheduling) []testbed.Name {
	var all []testbed.Name
	seen := make(map[testbed.Name]bool)
	eachEntry(s, func(name testbed.Name, _ []v1alpha1.SlotReference) {
		if !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	})
	return all
}

// eachEntry goes through what a Scheduling lists: a job, and its slots if they are named.
func eachEntry(s *v1alpha1.Scheduling, visit func(testbed.Name, []v1alpha1.SlotReference)) {
	name := func(namespace, name string) testbed.Name {
		return testbed.Name{Namespace: cmp.Or(namespace, s.Namespace), Name: name}
	}
	for _, job := range s.Spec.QueueBased {
		visit(name(job.Namespace, job.Name), nil)
	}
	if s.Spec.SlotBased != nil {
		for i := range s.Spec.SlotBased.Jobs {
			job := &s.Spec.SlotBased.Jobs[i]
			visit(name(job.Namespace, job.Name), job.Slots)
		}
	}
}

// want is what a Scheduling wants for a job: n slots, named if it names them.
type want struct {
	n     int
	named []v1alpha1.SlotReference
}

// wanted is what a Scheduling wants for each job. Of entries that name a job's slots the
// first counts.
func wanted(s *v1alpha1.Scheduling) map[testbed.Name]want {
	all := make(map[testbed.Name]want)
	eachEntry(s, func(name testbed.Name, slots []v1alpha1.SlotReference) {
		w, before := all[name]
		switch {
		case slots == nil:
			w.n++
		case !before:
			w = want{len(slots), slots}
		}
		all[name] = w
	})
	return all
}

// duplicates are the jobs that a Scheduling gives slots more than once: without a
// namespace, and with its own.
func duplicates(s *v1alpha1.Scheduling) []testbed.Name {
	var twice []testbed.Name
	seen := make(map[testbed.Name]bool)
	eachEntry(s, func(name testbed.Name, slots []v1alpha1.SlotReference) {
		if slots != nil && seen[name] {
			twice = append(twice, name)
		}
		seen[name] = true
	})
	return twice
}

// presentOrder is the order of a Testbed's slots by its status: the first ones of each node.
// Where slots follow the room that is measured, others may be there for the time being.
func presentOrder(tb *v1alpha1.Testbed) (*slot.Order, error) {
	return orderOf(tb, func(n *v1alpha1.TestbedNode) int { return int(n.Slots) })
}

// potentialOrder is the order of all slots that there may be some day on the nodes there are.
func potentialOrder(tb *v1alpha1.Testbed) (*slot.Order, error) {
	if !tb.Spec.Automatic() {
		return presentOrder(tb)
	}
	most := int(*tb.Spec.EffectiveAuto().Max)
	return orderOf(tb, func(n *v1alpha1.TestbedNode) int { return max(most, int(n.Slots)) })
}

func orderOf(tb *v1alpha1.Testbed, slots func(*v1alpha1.TestbedNode) int) (*slot.Order, error) {
	nodes := make([]slot.Node, len(tb.Status.Nodes))
	for i := range tb.Status.Nodes {
		n := &tb.Status.Nodes[i]
		nodes[i] = slot.Node{Name: n.Name, Label: strconv.Itoa(int(n.ID)), Positions: slot.First(slots(n))}
	}
	return slot.NewOrder(nodes, int(tb.Spec.MaxSlots))
}

// resolve finds the slots that refs name. Where one is unknown, or two are the same, it
// returns that reference, and false.
func resolve(refs []v1alpha1.SlotReference, in *slot.Order) (ids []slot.ID, wrong v1alpha1.SlotReference, ok bool) {
	slots := in.Slots()
	seen := make(map[slot.ID]bool, len(refs))
	for _, ref := range refs {
		var id slot.ID
		if index, is := ref.Index(); is {
			if index >= len(slots) {
				return nil, ref, false
			}
			id = slots[index]
		} else {
			var err error
			if id, err = slot.ParseID(ref.Text); err != nil {
				return nil, ref, false
			}
		}
		if seen[id] {
			return nil, ref, false
		}
		seen[id] = true
		ids = append(ids, id)
	}
	return ids, v1alpha1.SlotReference{}, true
}

// queueRequest is what a Scheduling asks for. A job some of whose slots do not exist has none:
// it waits, and other Schedulings may have what it waits for.
func queueRequest(s *v1alpha1.Scheduling, in *slot.Order) claim.Request {
	if s.Spec.SlotBased == nil {
		var r claim.Request
		eachEntry(s, func(name testbed.Name, _ []v1alpha1.SlotReference) { r.Queue = append(r.Queue, name) })
		return r
	}
	r := claim.Request{Relaxed: s.Spec.SlotBased.Mode == v1alpha1.Relaxed}
	all := wanted(s)
	for _, name := range jobNames(s) {
		ids, _, _ := resolve(all[name].named, in)
		r.Placements = append(r.Placements, claim.Placement{Job: name, Slots: ids})
	}
	return r
}

// precedence is what a Scheduling is served by.
func precedence(s *v1alpha1.Scheduling) claim.Precedence {
	return claim.Precedence{Priority: s.Spec.Priority, Created: s.CreationTimestamp.UTC(), Name: nameOf(s)}
}
