// Package podset derives [telemetry.PodEvent]s from the containers that run.
package podset

import (
	"maps"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// Set is the containers that run, each with the UID of its pod: a pod counts
// while it has one. What there is before the first report is no churn. The zero
// Set is empty. It is not safe for concurrent use.
type Set struct {
	running map[string]string // UID by container
	pods    map[string]int    // containers by UID
	// ended are the containers that ended since the last replacement but one. A
	// container runs once, so that word of its start that comes after that of its
	// end is old.
	ended, endedBefore map[string]bool

	churn, changed, reported bool
	told                     []string
}

// Start takes in that a container runs, unless it ended before. One without a
// pod's UID is none of Kubernetes'.
func (s *Set) Start(id, uid string) {
	if _, known := s.running[id]; known || uid == "" || s.hasEnded(id) {
		return
	}
	if s.running == nil {
		s.running, s.pods = map[string]string{}, map[string]int{}
	}
	s.running[id] = uid
	s.pods[uid]++
	s.changed, s.churn = true, true
}

// Stop takes in that a container does not run at present and says whether it
// did.
func (s *Set) Stop(id string) bool {
	uid, known := s.running[id]
	if !known {
		return false
	}
	delete(s.running, id)
	if s.pods[uid]--; s.pods[uid] == 0 {
		delete(s.pods, uid)
	}
	s.changed, s.churn = true, true
	return true
}

// End takes in that a container ended for good and says whether anything had
// been known of it.
func (s *Set) End(id string) bool {
	known := s.Stop(id) || s.hasEnded(id)
	if s.ended == nil {
		s.ended = map[string]bool{}
	}
	s.ended[id] = true
	return known
}

func (s *Set) hasEnded(id string) bool { return s.ended[id] || s.endedBefore[id] }

// Replace takes in all containers that run, by pod UID, read after the events
// that were taken in so far.
func (s *Set) Replace(running map[string]string) {
	for id := range s.running {
		if _, ok := running[id]; !ok {
			s.Stop(id)
		}
	}
	for id, uid := range running {
		s.Start(id, uid)
	}
	s.ended, s.endedBefore = nil, s.ended
}

// Churn takes in that something starts or stops that changes no pod yet.
func (s *Set) Churn() { s.churn = true }

// Report notifies of what happened since it was called last; the first time in
// any case.
func (s *Set) Report(now func() time.Time, notify func(telemetry.PodEvent)) {
	var pods []string
	changed := !s.reported
	if s.changed || !s.reported {
		pods = slices.Sorted(maps.Keys(s.pods))
		changed = changed || !slices.Equal(pods, s.told)
	}
	e := telemetry.PodEvent{At: now(), Churn: s.churn && s.reported, Changed: changed}
	s.churn, s.changed, s.reported = false, false, true
	if !e.Churn && !e.Changed {
		return
	}
	if changed {
		s.told = pods
		e.Pods = telemetry.RunningPods(pods...)
	}
	notify(e)
}
