package profiler

import (
	"cmp"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// State is what a Store holds, for people.
type State struct {
	Stats     Stats
	Workloads []WorkloadState
}

// WorkloadState is one of a State.
type WorkloadState struct {
	Workload profile.Workload
	Revision string `json:",omitempty"`
	Template uint64 `json:",omitempty"`
	Pods     int64
	Measured time.Time
	Demand   profile.Demand
	// Published is what the API has, at a time; zero if it has nothing.
	Published   profile.Demand
	PublishedAt time.Time
}

// State returns what is held, workloads in the order of their names.
func (s *Store) State(at time.Time) State {
	all := State{Stats: s.Stats(), Workloads: []WorkloadState{}}
	s.mu.Lock()
	for _, w := range s.workloads {
		demand, _ := w.says(at)
		all.Workloads = append(all.Workloads, WorkloadState{
			Workload: w.of, Revision: w.profile.Revision(), Template: w.template, Pods: w.pods, Measured: w.measured,
			Demand: demand, Published: w.object.demand, PublishedAt: w.object.at,
		})
	}
	s.mu.Unlock()
	slices.SortFunc(all.Workloads, func(a, b WorkloadState) int {
		return cmp.Or(cmp.Compare(a.Workload.Namespace, b.Workload.Namespace), cmp.Compare(a.Workload.Kind, b.Workload.Kind), cmp.Compare(a.Workload.Name, b.Workload.Name))
	})
	return all
}
