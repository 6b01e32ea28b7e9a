package controller

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// podStore has what Tables need to know of the pods in slots, by the Testbed's UID, and
// which of them have changed since the Testbed last asked. Safe for concurrent use.
type podStore struct {
	mu sync.Mutex
	of map[types.UID]*podsOf
}

// podsOf are the pods of one Testbed, by their UID.
type podsOf struct {
	known map[string]slot.Pod
	// dirty are those that have changed, or are gone.
	dirty map[string]struct{}
	// live counts the jobs' pods that have not ended, bound or not, by the job's UID.
	live map[string]int
	// on counts, by node, what makes the node the Testbed's: placeholders and live pods.
	on map[string]int
}

// podOf is what is needed of a pod.
func podOf(p *corev1.Pod) slot.Pod {
	o := slot.Pod{
		UID: string(p.UID), Namespace: p.Namespace, Name: p.Name, Role: slot.Occupant,
		Node: p.Spec.NodeName, Created: p.CreationTimestamp.Time, Deleting: p.DeletionTimestamp != nil,
		Terminal: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
	}
	if p.Labels[v1alpha1.LabelRole] == v1alpha1.RoleGhost {
		o.Role, o.Size = slot.Ghost, p.Annotations[v1alpha1.AnnotationSize]
	} else {
		o.Owner = p.Labels[v1alpha1.LabelBatchJobUID]
	}
	// What is not a slot's ID is none.
	o.Slot, _ = slot.ParseID(p.Annotations[v1alpha1.AnnotationSlot])
	return o
}

// observe notes a pod as it is, and says whose it is and whether the nodes that are
// the Testbed's by it have changed.
func (s *podStore) observe(p *corev1.Pod) (of types.UID, moved bool) {
	if !inSlots(p) || p.UID == "" {
		return "", false
	}
	of = types.UID(p.Labels[v1alpha1.LabelTestbedUID])
	s.mu.Lock()
	defer s.mu.Unlock()
	return of, s.testbed(of).set(podOf(p), true)
}

// forget notes that a pod is gone.
func (s *podStore) forget(p *corev1.Pod) (of types.UID, moved bool) {
	if !inSlots(p) {
		return "", false
	}
	of = types.UID(p.Labels[v1alpha1.LabelTestbedUID])
	s.mu.Lock()
	defer s.mu.Unlock()
	moved = s.testbed(of).set(slot.Pod{UID: string(p.UID)}, false)
	return of, moved
}

// testbed returns the Testbed's pods. s.mu is held.
func (s *podStore) testbed(uid types.UID) *podsOf {
	if s.of == nil {
		s.of = map[types.UID]*podsOf{}
	}
	of := s.of[uid]
	if of == nil {
		of = &podsOf{known: map[string]slot.Pod{}, dirty: map[string]struct{}{}, live: map[string]int{}, on: map[string]int{}}
		s.of[uid] = of
	}
	return of
}

// set takes in a pod, or that there is none, and reports whether a node has come or gone.
func (s *podsOf) set(p slot.Pod, there bool) (moved bool) {
	before, was := s.known[p.UID]
	if was {
		moved = s.count(&before, -1)
	}
	if there {
		s.known[p.UID] = p
		moved = s.count(&p, 1) != moved || was && before.Slot.Node != p.Slot.Node
	} else {
		delete(s.known, p.UID)
	}
	s.dirty[p.UID] = struct{}{}
	return moved
}

// count counts a pod, or takes it away again with −1, and reports whether a node has come
// or gone.
func (s *podsOf) count(p *slot.Pod, n int) bool {
	if p.Role == slot.Occupant && !p.Terminal {
		add(s.live, p.Owner, n)
	}
	if node := p.Slot.Node; node != "" && (p.Role == slot.Ghost || p.Node != "" && !p.Terminal) {
		return add(s.on, node, n)
	}
	return false
}

// add adds to a counter, leaves none at zero, and reports whether it has come or gone.
func add(counters map[string]int, key string, n int) bool {
	was := counters[key]
	if counters[key] = was + n; was+n == 0 {
		delete(counters, key)
	}
	return was == 0 || was+n == 0
}

// drain returns what has changed of the Testbed's pods since it was last called: those
// that are there, and the UIDs of those that are gone. With all it returns all that are
// there.
func (s *podStore) drain(of types.UID, all bool) (changed []slot.Pod, gone []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.testbed(of)
	if all {
		for _, p := range t.known {
			changed = append(changed, p)
		}
	} else {
		for uid := range t.dirty {
			if p, ok := t.known[uid]; ok {
				changed = append(changed, p)
			} else {
				gone = append(gone, uid)
			}
		}
	}
	clear(t.dirty)
	return changed, gone
}

// live returns how many pods of the job there are that have not ended.
func (s *podStore) live(of types.UID, job types.UID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.testbed(of).live[string(job)]
}

// holds returns the nodes on which the Testbed has placeholders or live pods.
func (s *podStore) holds(of types.UID) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.of[of]
	if t == nil {
		return nil
	}
	nodes := make([]string, 0, len(t.on))
	for node := range t.on {
		nodes = append(nodes, node)
	}
	return nodes
}

// placeholders returns how many placeholders the Testbed has.
func (s *podStore) placeholders(of types.UID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if t := s.of[of]; t != nil {
		for _, p := range t.known {
			if p.Role == slot.Ghost {
				n++
			}
		}
	}
	return n
}

// drop forgets a Testbed that is gone and has no pods.
func (s *podStore) drop(of types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.of[of]; t != nil && len(t.known) == 0 {
		delete(s.of, of)
	}
}

// uses is what the Testbed has on each node: placeholders, of its own namespace alone, each
// of which holds so many units, and jobs' pods.
func (s *podStore) uses(of types.UID, namespace string, units float64) map[string]*nodeUse {
	s.mu.Lock()
	defer s.mu.Unlock()
	uses := map[string]*nodeUse{}
	t := s.of[of]
	if t == nil {
		return uses
	}
	for _, p := range t.known {
		if p.Terminal || p.Slot == (slot.ID{}) || p.Role == slot.Ghost && p.Namespace != namespace {
			continue
		}
		use := useOf(uses, p.Slot.Node)
		switch {
		case p.Role == slot.Ghost:
			use.there = use.there.With(p.Slot.Position)
			if p.Node == p.Slot.Node {
				use.held += units
			}
		case p.Node == p.Slot.Node:
			use.busy, use.pods = use.busy.With(p.Slot.Position), use.pods.With(p.Slot.Position)
		}
	}
	return uses
}

func useOf(uses map[string]*nodeUse, node string) *nodeUse {
	use := uses[node]
	if use == nil {
		use = &nodeUse{}
		uses[node] = use
	}
	return use
}
