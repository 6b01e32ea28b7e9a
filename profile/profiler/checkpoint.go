package profiler

import (
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// Checkpoint is what a next process begins with. It is a plain value, safe for
// concurrent reading.
type Checkpoint struct {
	Workload profile.Workload
	Template uint64
	Pods     int64
	// State is a profile's, of profile.StateVersion.
	State []byte
}

// Checkpoints returns at most so many of workloads that were measured since their
// last one, which is at least Config.Refresh old; the oldest first.
func (s *Store) Checkpoints(at time.Time, most int) []Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Checkpoint
	for len(all) < most {
		w := s.saves.pop(at)
		if w == nil {
			break
		}
		s.saves.push(w, at.Add(s.config.Refresh))
		if w.measured.After(w.saved) {
			w.saved = w.measured
			all = append(all, Checkpoint{Workload: w.of, Template: w.template, Pods: w.pods, State: w.profile.State()})
		}
	}
	return all
}

// Unsaved says that a checkpoint was not kept; it is due again next time.
func (s *Store) Unsaved(c Checkpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workloads[c.Workload]; w != nil {
		w.saved = time.Time{}
	}
}

// Restore begins with a checkpoint, unless the workload's pods have been measured
// already. Errors are package profile's, and wrap profile.ErrVersion where the state
// is of another version.
func (s *Store) Restore(at time.Time, c Checkpoint) error {
	if !nameable(c.Workload, "") {
		return refuse("Workload", c.Workload, "one that an object can name")
	}
	if c.Pods < 0 {
		return refuse("Pods", c.Pods, "not negative")
	}
	p, err := profile.Restore(s.config.Profile, c.State)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workloads[c.Workload]
	switch {
	case w == nil:
		w = s.add(at, &workload{of: c.Workload, template: c.Template, profile: p})
	case !w.measured.IsZero():
		return nil
	default:
		s.leave(w)
		w.profile, w.template = p, c.Template
		s.join(w)
	}
	w.pods, w.restarts = c.Pods, p.Restarts()
	s.mark(at, w)
	return nil
}
