package podsource

import (
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/follow"
)

// container is a container of a pod, or its sandbox.
type container struct {
	ID string
	// UID is the pod's; without one it is none of Kubernetes' containers.
	UID string
	// Name is that in the pod's specification, which the container shares with
	// those that replace it; empty if unknown.
	Name string
	// Sandbox is the ID of the sandbox that the container is in, empty if unknown;
	// a sandbox's is its own.
	Sandbox string
	// Ended: it ran, and does no longer. Not meant for sandboxes.
	Ended bool
	// Namespace and PodName are the pod's; empty if unknown.
	Namespace, PodName string
}

func (c container) isSandbox() bool { return c.ID == c.Sandbox }

// podSet is the containers that run: a pod is on the node while its sandbox runs, or
// a container of it. The zero podSet is empty. It is not safe for concurrent use.
type podSet struct {
	running map[string]container // by ID
	pods    map[string]*pod      // by UID
	// ended are the containers that ended since the last replacement but one. A
	// container runs once, so that word of its start that comes after that of its
	// end is old.
	ended, endedBefore map[string]bool

	report follow.Pods
}

// pod is what is known of a pod.
type pod struct {
	containers int             // that run
	sandboxes  map[string]bool // IDs of those that run
	started    map[string]bool // names of the containers that have run
	// namespace and name are the pod's, as a container reported them.
	namespace, name string
}

func (p *pod) state(uid string) telemetry.Pod {
	out := telemetry.Pod{UID: uid, Starts: len(p.started), Namespace: p.namespace, Name: p.name}
	switch {
	case p.containers > 0:
		out.State = telemetry.PodRunning
	case len(p.started) > 0:
		out.State = telemetry.PodStopped
	}
	return out
}

// start notes that a container runs, unless it ended before.
func (s *podSet) start(c container) {
	if _, known := s.running[c.ID]; known || c.UID == "" || s.hasEnded(c.ID) {
		return
	}
	if s.running == nil {
		s.running, s.pods = map[string]container{}, map[string]*pod{}
	}
	p := s.pods[c.UID]
	if p == nil {
		p = &pod{sandboxes: map[string]bool{}, started: map[string]bool{}}
		s.pods[c.UID] = p
	}
	if c.PodName != "" {
		p.namespace, p.name = c.Namespace, c.PodName
	}
	s.running[c.ID] = c
	if c.isSandbox() {
		p.sandboxes[c.ID] = true
	} else {
		p.containers++
		p.started[name(c)] = true
	}
	s.update(c.UID)
}

// name distinguishes containers that are not another's replacement.
func name(c container) string {
	if c.Name == "" {
		return "container " + c.ID
	}
	return c.Name
}

// stop notes that a container does not run at present and returns whether it did.
func (s *podSet) stop(id string) bool {
	c, known := s.running[id]
	if !known {
		return false
	}
	delete(s.running, id)
	p := s.pods[c.UID]
	if c.isSandbox() {
		delete(p.sandboxes, id)
	} else {
		p.containers--
	}
	s.update(c.UID)
	return true
}

func (s *podSet) update(uid string) {
	s.report.Churn()
	p := s.pods[uid]
	if p.containers == 0 && len(p.sandboxes) == 0 {
		delete(s.pods, uid)
		s.report.Remove(uid)
		return
	}
	s.report.Put(uid, p.state(uid))
}

// end notes that a container ended for good and returns whether anything had been
// known of it.
func (s *podSet) end(id string) bool {
	known := s.stop(id) || s.hasEnded(id)
	if s.ended == nil {
		s.ended = map[string]bool{}
	}
	s.ended[id] = true
	return known
}

func (s *podSet) hasEnded(id string) bool { return s.ended[id] || s.endedBefore[id] }

// replace sets which containers run and which of their pods have ended; it was read after the
// events that came so far.
func (s *podSet) replace(containers []container) {
	running := make(map[string]bool, len(containers))
	for _, c := range containers {
		running[c.ID] = !c.Ended
	}
	for id := range s.running {
		if !running[id] {
			s.stop(id)
		}
	}
	for _, c := range containers {
		if _, known := s.running[c.ID]; !known && !c.Ended {
			s.start(c)
		}
	}
	for _, c := range containers {
		// What ran in a sandbox of before is started anew in the next.
		if p := s.pods[c.UID]; p != nil && c.Ended && (c.Sandbox == "" || p.sandboxes[c.Sandbox]) {
			p.started[name(c)] = true
			s.report.Put(c.UID, p.state(c.UID))
		}
	}
	s.ended, s.endedBefore = nil, s.ended
}
