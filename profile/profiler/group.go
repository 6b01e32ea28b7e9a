package profiler

import (
	"time"

	"slices"

	"github.com/spazio-scheduler/spazio/profile"
)

// groupKey is what workloads share that are alike except for their names, as jobs that
// have a new one each run.
type groupKey struct {
	namespace string
	template  uint64
}

func (w *workload) group() groupKey { return groupKey{w.of.Namespace, w.template} }

const (
	// mostAlike are asked what a new workload of their group will take, the last
	// ones that came.
	mostAlike = 64
	// fewPods of its own are as many as make what others show of little weight.
	fewPods = 4
)

// join enters the workload into its group; template 0 is unknown, and alone.
func (s *Store) join(w *workload) {
	if w.template == 0 {
		return
	}
	key := w.group()
	s.groups[key] = append(s.groups[key], w)
	s.expect(w)
}

func (s *Store) leave(w *workload) {
	key := w.group()
	members := s.groups[key]
	i := slices.Index(members, w)
	if i < 0 {
		return
	}
	if s.groups[key] = slices.Delete(members, i, i+1); len(members) == 1 {
		delete(s.groups, key)
	}
}

// become gives the workload the template of its newest pod.
func (s *Store) become(w *workload, template uint64) {
	if w.template != template {
		s.leave(w)
		w.template = template
		s.join(w)
	}
}

// expect makes what the others of its group take the workload's prior.
func (s *Store) expect(w *workload) {
	members := s.groups[w.group()]
	if len(members) < 2 || w.pods >= fewPods {
		return
	}
	var cpu, memory []profile.Evidence
	for _, m := range members[max(0, len(members)-mostAlike):] {
		if m == w {
			continue
		}
		itsCPU, itsMemory := m.profile.Evidence()
		cpu, memory = append(cpu, itsCPU), append(memory, itsMemory)
	}
	// An amount out of range would be an error of Evidence; there is no prior then.
	_ = w.profile.SetPrior(s.config.Profile.Prior(cpu, memory))
}

// Expect makes a demand from elsewhere, as from recorded history, the prior of a
// workload of which nothing was measured; it is believed by half at most.
func (s *Store) Expect(at time.Time, of profile.Workload, d profile.Demand) {
	const half = .5
	d.CPU.Confidence, d.Memory.Confidence = min(d.CPU.Confidence, half), min(d.Memory.Confidence, half)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workloads[of]
	if w == nil || !w.measured.IsZero() || w.profile.SetPrior(d) != nil {
		return
	}
	s.mark(at, w)
}
