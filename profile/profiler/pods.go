package profiler

import (
	"encoding/binary"
	"slices"
	"time"
	"unique"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Pod is what the API server has about a pod. It is a plain value, safe for concurrent
// reading.
type Pod struct {
	UID string
	// Mirrors is the UID by which the pod's node knows it if that is not UID: that of
	// the static pod whose mirror it is.
	Mirrors string
	// Node is empty while the pod is bound to none.
	Node     string
	Workload profile.Workload
	Revision string
	Template uint64
	// Created is when it was made; zero means that no one knows.
	Created time.Time
	// Always reports that the pod is restarted when it ends, so lives on.
	Always bool
	// Containers have an ID, those of a pod with more than one.
	Containers []Container
	// Names are those of the containers that recommendations are for: without those
	// that only begin the pod.
	Names []string
	// PartOf is the value of the pod's label app.kubernetes.io/part-of.
	PartOf string
}

// Container names a container of a pod by the key of its ID. It is a plain value,
// safe for concurrent use.
type Container struct {
	Key  uint64
	Name string
}

// pod is what is kept of one: there are many.
type pod struct {
	of         *workload // nil: unnamed
	node       unique.Handle[string]
	revision   unique.Handle[string]
	containers *[]Container // nil: one, as most have
	mirrors    reserve.PodKey
	created    int64 // in seconds; 0 is unknown
	always     bool
	measured   bool
	gone       bool
}

// departure is a pod that is kept for a while after its end.
type departure struct {
	at  time.Time
	pod reserve.PodKey
}

// Pod notes that a pod is there, or has changed. It returns whether nothing is known
// of its workload.
func (s *Store) Pod(at time.Time, p Pod) (unknown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.show(at, &p)
}

// Pods sets which pods there are: others have gone. It returns the workloads that
// nothing is known of, each once.
func (s *Store) Pods(at time.Time, all []Pod) (unknown []profile.Workload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := make(map[reserve.PodKey]bool, len(all))
	for i := range all {
		there[reserve.KeyOf(all[i].UID)] = true
	}
	// A static pod's new mirror follows the one that has gone.
	for key, p := range s.pods {
		if !there[key] {
			s.depart(at, key, p)
		}
	}
	asked := map[profile.Workload]bool{}
	for i := range all {
		p := &all[i]
		if s.show(at, p) && !asked[p.Workload] {
			asked[p.Workload] = true
			unknown = append(unknown, p.Workload)
		}
	}
	return unknown
}

func (s *Store) show(at time.Time, p *Pod) (unknown bool) {
	key := reserve.KeyOf(p.UID)
	kept := s.pods[key]
	if kept == nil {
		kept = &pod{revision: unique.Make(p.Revision), always: p.Always}
		if !p.Created.IsZero() {
			kept.created = p.Created.Unix()
		}
		if nameable(p.Workload, p.Revision) {
			w, err := s.workload(at, p.Workload, p.Template)
			if err != nil { // New has seen the configuration
				return false
			}
			kept.of = w
			if len(p.Names) > 0 && !slices.Equal(w.containers, p.Names) {
				w.containers = p.Names
			}
			s.become(w, p.Template)
			s.expect(w)
			s.markSeen(at, w)
			s.mark(at, w)
		}
		s.pods[key] = kept
	}
	kept.node, kept.gone = unique.Make(p.Node), false
	if kept.of != nil && kept.of.tuning != nil && !kept.of.dropped {
		kept.of.tuning.partOf = p.PartOf
	}
	kept.name(p.Containers)
	s.release(key)
	if p.Mirrors != "" {
		s.mirror(key, kept, p.Mirrors)
	}
	if kept.of == nil {
		return false
	}
	_, says := kept.of.demand(at)
	return !says
}

// staticPod is one by the UID that its node knows it by. Its manifest may give the same on
// all nodes.
type staticPod struct {
	node unique.Handle[string]
	pod  reserve.PodKey
}

// mirror counts the windows of a static pod for its mirror, unless there is another mirror:
// anyone who makes a pod may write any UID into its annotations.
func (s *Store) mirror(key reserve.PodKey, kept *pod, uid string) {
	static := staticPod{kept.node, reserve.KeyOf(uid)}
	if other := s.pods[s.mirrors[static]]; other == nil || other.gone {
		s.mirrors[static], kept.mirrors = key, static.pod
		s.release(static.pod)
	}
}

// known is the pod that a node knows by a key, nil if there is none, and its key in the API.
func (s *Store) known(node string, onNode reserve.PodKey) (*pod, reserve.PodKey) {
	if p := s.pods[onNode]; p != nil {
		return p, onNode
	}
	key, ok := s.mirrors[staticPod{unique.Make(node), onNode}]
	if !ok {
		return nil, 0
	}
	return s.pods[key], key
}

// Gone notes that the API no longer has a pod. Its last window may still be on its
// way.
func (s *Store) Gone(at time.Time, uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := reserve.KeyOf(uid)
	if p := s.pods[key]; p != nil {
		s.depart(at, key, p)
	}
}

func (s *Store) depart(at time.Time, key reserve.PodKey, p *pod) {
	if !p.gone {
		p.gone = true
		s.departed = append(s.departed, departure{at.Add(maxWait), key})
	}
}

// dropDeleted forgets pods that have gone a while ago.
func (s *Store) dropDeleted(at time.Time) {
	for len(s.departed) > 0 && !s.departed[0].at.After(at) {
		key := s.departed[0].pod
		s.departed = s.departed[1:]
		p := s.pods[key]
		if p == nil || !p.gone {
			continue
		}
		if p.of != nil && p.measured {
			p.of.profile.Gone(nameOf(key))
		}
		if static := (staticPod{p.node, p.mirrors}); s.mirrors[static] == key {
			delete(s.mirrors, static)
		}
		delete(s.pods, key)
	}
}

// nameOf is what a profile knows a pod by.
func nameOf(key reserve.PodKey) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(key))
	return string(b[:])
}

// name keeps the containers of a pod that has several.
func (p *pod) name(containers []Container) {
	if p.containers = nil; len(containers) > 0 {
		p.containers = &containers
	}
}

// container names one of the pod's, the pod itself by 0.
func (p *pod) container(key uint64) (name string, ok bool) {
	if key == 0 {
		return "", true
	}
	if p.containers == nil {
		return "", false
	}
	for _, c := range *p.containers {
		if c.Key == key {
			return c.Name, true
		}
	}
	return "", false
}
