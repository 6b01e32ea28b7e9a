package profiler

import (
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Advice is what is recommended for a workload now. It is a plain value, safe for
// concurrent reading.
type Advice struct {
	// Recommendations are by container, within the bounds of the owner's Spec.
	Recommendations []profile.Recommendation
	// Demand has the confidence in what is known.
	Demand profile.Demand
	Stale  bool
}

// Advise returns what is recommended for a workload; not ok where nothing is known.
func (s *Store) Advise(at time.Time, of profile.Workload) (Advice, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workloads[of]
	if w == nil {
		return Advice{}, false
	}
	demand, ok := w.says(at)
	if !ok {
		return Advice{}, false
	}
	return Advice{Recommendations: s.recommend(at, w), Demand: demand, Stale: w.stale(at)}, true
}

// recommend is what the containers of the workload's pods should request.
func (s *Store) recommend(at time.Time, w *workload) []profile.Recommendation {
	if s.corrects(w) {
		return s.corrected(at, w)
	}
	return s.learnt(at, w, w.object.spec.Bounds)
}

// learnt is the same without the continuous profiler's correction.
func (s *Store) learnt(at time.Time, w *workload, bounds profile.Bounds) (all []profile.Recommendation) {
	preset := s.preset(w.object.spec.Preset)
	// Bounds that exclude one another have been refused by the API server.
	if w.containers == nil {
		all, _ = w.profile.Recommend(at, preset, bounds)
		return all
	}
	all, _ = w.profile.RecommendFor(at, preset, bounds, w.containers)
	return all
}

// Peak is the largest amount of memory that a pod's container was seen with, 0 if it
// was not measured.
func (s *Store) Peak(uid, container string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := reserve.KeyOf(uid)
	p := s.pods[key]
	if p == nil || p.of == nil {
		return 0
	}
	return p.of.profile.Peak(nameOf(key), container, p.of.containers)
}

// Again notes that a workload's object says something else than it should of what a
// Store does not know, so that it is published although nothing was measured.
func (s *Store) Again(at time.Time, of profile.Workload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workloads[of]; w != nil {
		w.again = true
		s.mark(at, w)
	}
}
